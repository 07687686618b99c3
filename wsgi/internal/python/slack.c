// SPDX-License-Identifier: MIT
//go:build linux

#include <sys/prctl.h>

#include "shim.h"

// The first thread that Go's runtime starts, sysmon, sleeps 20 µs at a time while a loop goes in
// and out of the interpreter, wakes in vain up to 3,000 times a second, and takes 2 to 4 % of
// the processor of the views. A thread inherits the slack of the timers of the one that starts it,
// so it is coarse while the runtime starts (constructors of a priority come before Go's), and as
// it was from then on.
enum { COARSE = 5 * 1000 * 1000 }; // ns; nothing that sysmon does is needed sooner

static unsigned long fine = 50 * 1000;

__attribute__((constructor(101))) static void coarse_timers(void)
{
	int now = prctl(PR_GET_TIMERSLACK);
	if (now > 0 && now < COARSE) {
		fine = (unsigned long)now;
		prctl(PR_SET_TIMERSLACK, (unsigned long)COARSE);
	}
}

// m0_fine_timers is for each thread that is there when the runtime has started.
void m0_fine_timers(void)
{
	prctl(PR_SET_TIMERSLACK, fine);
}

// SPDX-License-Identifier: MIT
//go:build linux

#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim.h"

// A seat is its call, with what the thread itself needs.
typedef struct {
	m0_call call; // first: a seat is found from its call
	sem_t roused;
	void *state; // the thread's, while it does not have the lock
} seat;

m0_call *m0_seat_open(int index)
{
	seat *s = calloc(1, sizeof *s);
	if (!s)
		abort();
	sem_init(&s->roused, 0, 0);
	s->call.seat = index;
	return &s->call;
}

void m0_unlock(m0_call *call)
{
	((seat *)call)->state = PyEval_SaveThread();
}

void m0_lock(m0_call *call)
{
	PyEval_RestoreThread(((seat *)call)->state);
}

void m0_sleep(m0_call *call)
{
	while (sem_wait(&((seat *)call)->roused) != 0)
		;
}

void m0_rouse(m0_call *call)
{
	sem_post(&((seat *)call)->roused);
}

void m0_nap(void)
{
	usleep(50);
}

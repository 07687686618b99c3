// SPDX-License-Identifier: MIT

package main

import (
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"syscall"
	"testing"
)

// TestHangupIsNotIgnoredBelow: under nohup, what is started from here hears SIGHUP.
func TestHangupIsNotIgnoredBelow(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if !ignoresHangup(t) {
		t.Fatal("a process started while SIGHUP is ignored hears it, so this test sees nothing")
	}
	hearHangups()
	if ignoresHangup(t) {
		t.Error("a process started behind hearHangups still ignores SIGHUP")
	}
}

// ignoresHangup starts a process and reports whether it has SIGHUP ignored.
func ignoresHangup(t *testing.T) bool {
	t.Helper()
	out, err := exec.Command("cat", "/proc/self/status").Output()
	found := regexp.MustCompile(`SigIgn:\s*([0-9a-f]+)`).FindSubmatch(out)
	if err != nil || found == nil {
		t.Fatalf("status of a child: %v, %d bytes without SigIgn", err, len(out))
	}
	mask, err := strconv.ParseUint(string(found[1]), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return mask&(1<<(syscall.SIGHUP-1)) != 0
}

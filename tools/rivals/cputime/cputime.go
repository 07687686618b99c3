// SPDX-License-Identifier: MIT

// Package cputime lets a benchmark say how much time of the processor an operation
// took, which other work on the machine does not count in.
package cputime

import (
	"syscall"
	"testing"
	"time"
)

// Count begins to count and returns what ends it and reports "cpu-ns/op", the
// collector's time included:
//
//	defer cputime.Count(b)()
//	for b.Loop() { … }
func Count(b *testing.B) func() {
	b.Helper()
	begin := now(b)
	return func() {
		took := now(b) - begin
		b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "cpu-ns/op")
	}
}

func now(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

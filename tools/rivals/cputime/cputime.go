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

// Least runs op some times and counts the least of them. An operation of many
// milliseconds is disturbed by others in most of its runs, and the mean of the few that
// fit in a measurement says how much:
//
//	var least cputime.Least
//	for b.Loop() { least.Run(b, op) }
//	least.Report(b)
type Least struct{ took time.Duration }

// leastRuns is how often Run runs: once in nine runs SQLite moves its WAL into the file,
// which a mean has in it or not.
const leastRuns = 5

// Run runs op.
func (l *Least) Run(b *testing.B, op func()) {
	b.Helper()
	for range leastRuns {
		begin := now(b)
		op()
		if took := now(b) - begin; l.took == 0 || took < l.took {
			l.took = took
		}
	}
}

// Report reports "cpu-ns/op".
func (l *Least) Report(b *testing.B) {
	b.ReportMetric(float64(l.took.Nanoseconds()), "cpu-ns/op")
}

func now(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// SPDX-License-Identifier: MIT

package clock

import (
	"testing"
	"time"
)

func TestStamp(t *testing.T) {
	var s Stamp
	now := time.Now()
	if _, ok := s.Since(now); ok {
		t.Error("a stamp that was never set says that it was")
	}
	s.Set(now)
	if d, ok := s.Since(now.Add(time.Minute)); d != time.Minute || !ok {
		t.Errorf("Since = %v, %v a minute later, want that", d, ok)
	}
	s.Clear()
	if _, ok := s.Since(now); ok {
		t.Error("a stamp that was cleared says that it was set")
	}
	for after, want := range []bool{true, false, false, true, false} {
		if got := s.Once(now.Add(time.Duration(after)*time.Second), 3*time.Second); got != want {
			t.Errorf("Once every 3 s is %v after %d s, want %v", got, after, want)
		}
	}
}

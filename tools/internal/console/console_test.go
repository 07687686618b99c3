// SPDX-License-Identifier: MIT

package console

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c := New(&out)
		c.Step("one", "the first", func(s *Step) error {
			s.Printf("a\nb")
			return nil
		})
		err := c.Step("two", "the second", func(s *Step) error {
			s.Doing("the long part")
			time.Sleep(stillEvery + time.Second)
			return errors.New("x.go:3: broken\nmore")
		})
		if err == nil {
			t.Error("Step = nil, want the error of its function")
		}
		if c.Close("quick") {
			t.Error("Close = true after a failure, want false")
		}
		want := "== one: the first\n   a\n   b\n   ok one, 0.0s\n== two: the second\n" +
			"   ... two still runs after 20.0s the long part\n   x.go:3: broken\n   more\n" +
			"   FAILED two after 21.0s\nquick: FAILED in 21.0s: 1 of 2 steps: two\n"
		if got := out.String(); got != want {
			t.Errorf("console printed\n%s\nwant\n%s", got, want)
		}
	})
}

// TestStillOnlyWhenSilent: a step that says something every now and then does not say
// between that it runs.
func TestStillOnlyWhenSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		_ = New(&out).Step("one", "x", func(s *Step) error {
			for range 4 {
				time.Sleep(stillEvery - time.Second)
				s.Printf("a")
			}
			time.Sleep(stillEvery + time.Second)
			return nil
		})
		want := "== one: x\n" + strings.Repeat("   a\n", 4) +
			"   ... one still runs after 1m36s \n   ok one, 1m37s\n"
		if got := out.String(); got != want {
			t.Errorf("console printed\n%s\nwant\n%s", got, want)
		}
	})
}

func TestCloseAfterSuccess(t *testing.T) {
	var out bytes.Buffer
	c := New(&out)
	c.Step("one", "x", func(*Step) error { return nil })
	if !c.Close("full") {
		t.Error("Close = false, want true")
	}
	last := strings.Split(strings.TrimSpace(out.String()), "\n")[2]
	if !regexp.MustCompile(`^full: ok in \d+\.\ds, 1 steps$`).MatchString(last) {
		t.Errorf("Close printed %q", last)
	}
}

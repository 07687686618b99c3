// SPDX-License-Identifier: MIT

//go:build linux

package heldsite

import (
	"strings"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
)

// TestHoldThatIsNotValid wants 502 for the client, and for the operator a line that
// names the field, its value and what would be right.
func TestHoldThatIsNotValid(t *testing.T) {
	s := start(t, 1)
	for name, c := range map[string]struct {
		target string
		log    []string
	}{
		"hold": {say("Grip-Hold: strem", "Grip-Channel: a"),
			[]string{"Grip-Hold", "strem", "want stream or response"}},
		"no channel": {say("Grip-Hold: stream"),
			[]string{"Grip-Hold", "name a channel in Grip-Channel"}},
		"no channel, short": {say("M0-Hold: stream"),
			[]string{"name a channel in"}},
		"empty channel": {say("M0-Channel: "), []string{"M0-Channel", "empty"}},
		"reserved name": {say("Content-Type: application/grip-instruct",
			`body={"hold": {"channels": [{"name": "\u0001grip"}]}}`), []string{"channels[0]", "reserved"}},
		"body":   {say("M0-Channel: a", "size=100001"), []string{"100,000 bytes"}},
		"status": {say("status=204 No Content", "M0-Channel: a"), []string{"has no body"}},
		"unknown filter": {say("Grip-Hold: stream", "Grip-Channel: a; filter=skip-me"),
			[]string{"Grip-Channel", "skip-me", "skip-self, skip-users"}},
		"prev-id without a link": {say("Grip-Hold: stream", "Grip-Channel: a; prev-id=1"),
			[]string{"prev-id", "Grip-Link"}},
		"too many channels": {say("M0-Channel: " + strings.Repeat("a,", 20) + "a"),
			[]string{"M0-Channel", "at most 20"}},
		"timeout": {say("Grip-Hold: response", "Grip-Channel: a", "Grip-Timeout: soon"),
			[]string{"Grip-Timeout", "soon", "seconds"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.of(t)
			before := len(s.Log())
			r := s.get("502 Bad Gateway", c.target)
			for _, line := range r.Fields {
				if isOurs(line) {
					t.Errorf("the client got %q", line)
				}
			}
			line := ""
			smoketest.Until(t, "a log line", func() (ok bool) {
				_, line, _ = strings.Cut(s.Log()[before:], "is not valid")
				return strings.Contains(line, "\n")
			})
			for _, want := range c.log {
				if !strings.Contains(line, want) {
					t.Errorf("the log says %s, want %s in it", line, want)
				}
			}
		})
	}
}

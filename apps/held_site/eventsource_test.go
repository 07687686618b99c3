// SPDX-License-Identifier: MIT

//go:build linux

package heldsite

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
)

// eventSourceEnv names a folder with another version of the npm package eventsource.
const eventSourceEnv = "M0_TEST_EVENTSOURCE"

// A happening is what the client says that it saw; see testdata/eventsource.js.
type happening struct{ What, ID, Data string }

// eventSource runs the npm package against a target until the end of the test.
func (s *site) eventSource(target string) <-chan happening {
	s.t.Helper()
	folder := os.Getenv(eventSourceEnv)
	if folder == "" {
		folder = "/usr/share/nodejs" // Debian's
	}
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(folder, "eventsource"))
	}
	if err != nil {
		s.t.Skipf("SKIPPED: no node with eventsource here (Debian: nodejs node-eventsource): %v; "+
			"`go run ./tools setup` installs it", err)
	}
	cmd := exec.Command(node, "testdata/eventsource.js", s.URL+target)
	cmd.Env = append(os.Environ(), "NODE_PATH="+folder)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	seen := make(chan happening, 1000) // more than any test has
	go func() {
		defer close(seen)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var h happening
			if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
				h = happening{What: "nonsense", Data: lines.Text()}
			}
			seen <- h
		}
	}()
	s.t.Cleanup(func() {
		_ = in.Close()
		for range seen { // up to the end of its output
		}
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("node: %v", err)
		}
	})
	return seen
}

// TestEventSourceOfNode: the npm package reads our streams, and over a reload that cuts
// it gets what was published meanwhile, each once and in order.
func TestEventSourceOfNode(t *testing.T) {
	s := start(t, 2)
	c := &nodeClient{s: s, seen: s.eventSource(say("M0-Channel: a"))}
	c.await("open", func() bool { return c.opened == 1 })
	const data = "zwei\nZeilen: \u00fc \U0001f600"
	id := s.publish("a", data, "event=note")
	c.await("a note", func() bool { return c.note.What != "" })
	if want := (happening{"note", id, data}); c.note != want {
		t.Fatalf("got %+v, want %+v", c.note, want)
	}
	s.Signal(t, syscall.SIGHUP)
	c.await("a cut", func() bool {
		c.publish()
		return c.cut
	})
	for range 10 { // while it is away
		c.publish()
	}
	c.await("another connection", func() bool { return c.opened == 2 })
	c.publish()
	c.await("the last event", func() bool { return c.got == c.published })
}

// A nodeClient is what the client has seen, as the test reads it.
type nodeClient struct {
	s         *site
	seen      <-chan happening
	note      happening
	opened    int
	cut       bool
	got       int // messages, which are numbered
	published int
}

func (c *nodeClient) publish() {
	c.s.publish("a", fmt.Sprint(c.published))
	c.published++
}

// await reads what the client has seen until ok.
func (c *nodeClient) await(what string, ok func() bool) {
	c.s.t.Helper()
	smoketest.Until(c.s.t, what, func() bool {
		for {
			select {
			case h, isOpen := <-c.seen:
				c.take(h, isOpen)
			default:
				return ok()
			}
		}
	})
}

func (c *nodeClient) take(h happening, isOpen bool) {
	c.s.t.Helper()
	switch {
	case !isOpen:
		c.s.t.Fatal("the client ended")
	case h.What == "open":
		c.opened++
	case h.What == "error":
		c.cut = true
	case h.What == "note":
		c.note = h
	case h.What != "message" || h.Data != fmt.Sprint(c.got):
		c.s.t.Fatalf("got %+v, want message %d", h, c.got)
	default:
		c.got++
	}
}

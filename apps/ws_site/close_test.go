// SPDX-License-Identifier: MIT

//go:build linux

package wssite

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/http/ws"
)

// TestCloseByTheApplication: an answer may close the socket, or be a reason to.
func TestCloseByTheApplication(t *testing.T) {
	s := start(t, 1)
	for _, c := range []struct {
		name   string
		told   map[string]any
		code   ws.Code
		reason string
	}{
		{"own code", map[string]any{"f": []string{"M0-Close: 4001 go away"}}, 4001, "go away"},
		{"normal", map[string]any{"f": []string{"M0-Close: 1000"}}, ws.CodeNormal, ""},
		{"behind a reply", map[string]any{"f": []string{"M0-Close: 4002"}, "body": "bye"}, 4002, ""},
		{"a code that is none", map[string]any{"f": []string{"M0-Close: 1006"}}, ws.CodeInternal, ""},
		{"a text that is none", map[string]any{"f": []string{"M0-Close: soon"}}, ws.CodeInternal, ""},
		{"opcode", map[string]any{"f": []string{"M0-Opcode: x"}, "body": "a"}, ws.CodeInternal, ""},
		{"channels", map[string]any{"f": []string{"M0-Channel: " + strings.Repeat("a,", 21)}},
			ws.CodeInternal, ""},
		{"forbidden", map[string]any{"status": "403 Forbidden", "body": "no"}, ws.CodePolicy, ""},
		{"not found", map[string]any{"status": "404 Not Found"}, ws.CodePolicy, ""},
		{"login", map[string]any{"status": "302 Found"}, ws.CodePolicy, ""},
		{"failed", map[string]any{"status": "500 Internal Server Error"}, ws.CodeInternal, ""},
		{"raised", map[string]any{"raise": "a failure of the view"}, ws.CodeInternal, ""},
		{"busy", map[string]any{"status": "503 Service Unavailable"}, ws.CodeOverload, ""},
		{"too long an answer", map[string]any{"size": 5 << 20}, ws.CodeInternal, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := (&site{s.Process, t}).open("/ws")
			w.send(tell(c.told))
			if c.told["body"] == "bye" {
				w.want("bye")
			}
			if reason := w.wantEnd(c.code); c.reason != "" && reason != c.reason {
				t.Errorf("reason %q, want %q", reason, c.reason)
			}
		})
	}
}

// TestCloseByTheClient: its code comes back, and the application is told of the end
// where it wants to be.
func TestCloseByTheClient(t *testing.T) {
	ends := filepath.Join(t.TempDir(), "ends")
	s := startWith(t, pyserver.Config{Workers: 2, Threads: 1, Env: []string{"WS_LOG=" + ends}})
	for _, code := range []ws.Code{1000, 1001, 3000, 4999} {
		c := s.open(on("room", "M0-Notify: close"))
		slot := c.seen()["HTTP_M0_SLOT"]
		c.send("note") // is asked, and the end behind it
		if err := c.CloseWith(code, "because"); err != nil {
			t.Fatal(err)
		}
		c.wantEnd(code)
		wantNoted(t, ends, slot, "note", strconv.Itoa(int(code)))
	}
	c := s.open(on("room", "M0-Notify: close"))
	slot := c.seen()["HTTP_M0_SLOT"]
	c.sendAs(ws.OpClose, "")
	c.wantEnd(ws.CodeNoStatus)
	wantNoted(t, ends, slot, "1005")

	c = s.open(on("room", "M0-Notify: close"))
	slot = c.seen()["HTTP_M0_SLOT"]
	c.Close()
	wantNoted(t, ends, slot, "1006")

	c = s.open(on("room", "M0-Notify: close"))
	slot = c.seen()["HTTP_M0_SLOT"]
	c.send(tell(map[string]any{"f": []string{"M0-Close: 4004"}}))
	c.wantEnd(4004)
	wantNoted(t, ends, slot, "4004")

	c = s.open(on("room")) // one that did not ask
	slot = c.seen()["HTTP_M0_SLOT"]
	_ = c.CloseWith(1000, "")
	c.wantEnd(1000)
	if text, _ := os.ReadFile(ends); strings.Contains(string(text), slot) {
		t.Errorf("the end of a socket that nobody asked about was told:\n%s", text)
	}
}

// wantNoted waits until the application has noted all of codes of a socket, and wants
// them in order and no others.
func wantNoted(t *testing.T, file, slot string, codes ...string) {
	t.Helper()
	var got []string
	smoketest.Until(t, "a note of the end "+codes[len(codes)-1], func() bool {
		text, _ := os.ReadFile(file) // not there yet
		got = got[:0]
		for line := range strings.Lines(string(text)) {
			note, _ := url.ParseQuery(strings.TrimSpace(line))
			if note.Get("slot") == slot && note.Get("channel") == "room" {
				got = append(got, note.Get("code"))
			}
		}
		return len(got) >= len(codes)
	})
	if !slices.Equal(got, codes) {
		t.Errorf("the view noted %q, want %q", got, codes)
	}
}

// TestDrain: a stop and a reload close with 1012, promptly.
func TestDrain(t *testing.T) {
	s := start(t, 2)
	var all []*socket
	for range 20 {
		all = append(all, s.open(on("a")))
	}
	s.Signal(t, syscall.SIGHUP)
	for _, c := range all {
		c.wantEnd(ws.CodeRestart)
	}
	c := s.open(on("a"))
	began := time.Now()
	s.Signal(t, syscall.SIGTERM)
	c.wantEnd(ws.CodeRestart)
	if code := s.Wait(t); code != 0 || time.Since(began) > 4*time.Second {
		t.Errorf("the drain has ended with %d after %v", code, time.Since(began))
	}
}

// TestKilledWorker: it costs the sockets that it had, and no others.
func TestKilledWorker(t *testing.T) {
	s := start(t, 2)
	byPid := map[string][]*socket{}
	smoketest.Until(t, "sockets on both workers", func() bool {
		c := s.open(on("a"))
		for pid := range s.workersOf([]*socket{c}) {
			byPid[pid] = append(byPid[pid], c)
		}
		return len(byPid) == 2
	})
	victim := true
	for pid, sockets := range byPid {
		if !victim {
			continue
		}
		victim = false
		n, err := strconv.Atoi(strings.TrimPrefix(pid, "echo "))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for _, c := range sockets {
			c.wantGone()
		}
		delete(byPid, pid)
	}
	s.publish("a", "still here")
	for _, sockets := range byPid {
		for _, c := range sockets {
			c.want("still here")
			c.send("and heard")
			c.want("echo and heard")
		}
	}
	s.open(on("a"))
}

// wantGone wants the connection to end without a close frame.
func (c *socket) wantGone() {
	c.t.Helper()
	code, _, err := c.End()
	isReset := err != nil && strings.Contains(err.Error(), "reset by peer")
	if !isReset && (err != nil || code != ws.CodeAbnormal) {
		c.t.Fatalf("the socket ended with %v, %v; want an end without a close", code, err)
	}
}

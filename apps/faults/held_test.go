// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// heldEvents is how many events each stream gets at least while the interpreter is held,
// and heldTime for how long that is.
const (
	heldEvents = 100
	heldTime   = 30 * time.Second
)

// TestHeldInterpreter is F16 for long: the only worker has a view that does not let go
// of the interpreter for half a minute. Its streams get their events all the while, nobody
// is cut, and behind it the view and everybody else are answered.
func TestHeldInterpreter(t *testing.T) {
	p := startWild(t, 1, "--timeout", "0")
	ls := listen(t, p.URL+"/events", 3)
	w := newWriter(t, p, ls.Events)
	w.run()
	ls.first(t)

	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	conn := dial(t, p)
	if _, err := fmt.Fprintf(conn, "GET /clings?%s HTTP/1.1\r\nHost: a\r\n\r\n", pipe); err != nil {
		t.Fatal(err)
	}
	says(t, p, 1, "wild clings")
	release, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer release.Close()
	for began := time.Now(); ; {
		before := ls.Count()
		until(t, "events while the interpreter is held", func() bool {
			return ls.Count() > before+heldEvents+aheadMost
		})
		if time.Since(began) >= heldTime {
			break
		}
	}
	if _, err := release.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the view that held the interpreter: %v, %v, want 200", resp, err)
	}
	_ = resp.Body.Close()
	if status, err := harm(t, p, "/word"); err != nil || status != http.StatusOK {
		t.Errorf("behind it: %d, %v, want an answer", status, err)
	}
	if v := ls.verdict(t, w, heldEvents, 0); v.Returns > 0 || v.Told > 0 {
		t.Errorf("%d streams were cut and %d events missed, want none", v.Returns, v.Told)
	}
}

// SPDX-License-Identifier: MIT

package diagnosis

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"testing"
)

func text(t *testing.T, r *Report, terminal bool) string {
	t.Helper()
	var b strings.Builder
	if err := r.Print(&b, terminal); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReportIsAligned(t *testing.T) {
	r := &Report{Title: "shop 0.1.0", URLs: []string{"http://127.0.0.1:8080"}}
	r.Add("One", Good, "a", "first", "")
	r.Add("One", Warning, "longer", "two\nlines", "mend it")
	r.Add("Two", Note, "", "no label", "")
	const plain = `shop 0.1.0 doctor

One
  ok   a       first
  warn longer  two
               lines
               → mend it

Two
  -    no label

It would serve http://127.0.0.1:8080, with 1 warning.
`
	if got := text(t, r, false); got != plain || !r.OK() {
		t.Errorf("Print =\n%s\nwant\n%s", got, plain)
	}
	r.Add("Two", Problem, "b", "bad", "stop")
	const terminal = "\x1b[1mshop 0.1.0\x1b[0m doctor\n\n\x1b[1mOne\x1b[0m\n" +
		"  \x1b[32m✓\x1b[0m a       first\n  \x1b[33m!\x1b[0m longer  two\n            lines\n" +
		"            \x1b[36m→ mend it\x1b[0m\n\n\x1b[1mTwo\x1b[0m\n  \x1b[2m·\x1b[0m no label\n" +
		"  \x1b[31m✗\x1b[0m b       bad\n            \x1b[36m→ stop\x1b[0m\n\n" +
		"1 problem and 1 warning. Nothing would be served.\n"
	if got := text(t, r, true); got != terminal || r.OK() {
		t.Errorf("Print to a terminal =\n%q\nwant\n%q", got, terminal)
	}
}

func TestAddressIsTriedAndGivenBack(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	problem, cure := TryListen(address, "--port")
	if problem != "is taken by another process" || !strings.HasSuffix(cure, "with --port") {
		t.Errorf("TryListen of a taken address = %q, %q", problem, cure)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it stays free
		if problem, cure := TryListen(address, "--port"); problem != "" {
			t.Errorf("TryListen of a free address = %q, %q", problem, cure)
		}
	}
	if problem, _ := TryListen("192.0.2.1:0", "--port"); problem != "is no address of this machine" {
		t.Errorf("TryListen of a foreign address = %q", problem)
	}
	for _, c := range []struct {
		err    error
		words  string
		ofPort bool
	}{
		{&net.DNSError{Err: "no such host"}, "not known here (no such host)", false},
		{fs.ErrPermission, "below 1024", true}, {errors.New("odd"), "listened on (odd)", false},
	} {
		problem, cure, ofPort := ListenProblem("shop.example:80", "--port", c.err)
		if !strings.Contains(problem, c.words) || cure == "" || ofPort != c.ofPort {
			t.Errorf("ListenProblem of %v = %q, %q, %t; want %q, a cure and %t",
				c.err, problem, cure, ofPort, c.words, c.ofPort)
		}
	}
}

func TestDescriptorsAreComparedWithWhatIsAsked(t *testing.T) {
	limit, known := fileLimit()
	if !known || limit < 1024 || limit > 1<<30 {
		t.Skipf("SKIPPED: a limit of %d descriptors", limit)
	}
	r := &Report{}
	r.Descriptors(10, "", "--max-conns")
	if l := r.Lines[0]; l.Mark != Good {
		t.Errorf("10 connections = %+v; want them good", l)
	}
	r = &Report{}
	r.Descriptors(int(limit), "$M0_MAX_CONNS", "--max-conns")
	want := fmt.Sprintf("%d for a process: %d connections fit, and $M0_MAX_CONNS asks for %d",
		limit, limit-spareFiles, limit)
	cure := fmt.Sprintf("raise the hard limit (ulimit -Hn %d, LimitNOFILE=%d in a unit), "+
		"or set --max-conns %d", limit+spareFiles, limit+spareFiles, limit-spareFiles)
	if l := r.Lines[0]; l.Mark != Problem || l.Text != want || l.Cure != cure {
		t.Errorf("%d connections = %+v; want\n%s\n%s", limit, l, want, cure)
	}
}

// SPDX-License-Identifier: MIT

package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"m0serve.dev/http/loop"
)

// A sink is a file that can be made to wait and to fail.
type sink struct {
	mu     sync.Mutex
	data   bytes.Buffer
	pieces []int
	fail   func(p []byte) (n int, err error) // nil: takes everything
	gate   chan struct{}                     // nil, or each write takes one
	closed bool
}

func (s *sink) Write(p []byte) (int, error) {
	if s.gate != nil {
		<-s.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := len(p), error(nil)
	if s.fail != nil {
		n, err = s.fail(p)
	}
	s.data.Write(p[:n])
	s.pieces = append(s.pieces, n)
	return n, err
}

func (s *sink) Close() error {
	s.closed = true
	return nil
}

func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data.String()
}

// logTo starts a Log that writes to out.
func logTo(t testing.TB, cfg Config, out io.WriteCloser, isPipe bool) *Log {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	l := newLog(cfg)
	l.open = func() (io.WriteCloser, bool, error) { return out, isPipe, nil }
	if err := l.start(); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLinesReachTheFileByThemselves(t *testing.T) {
	out := &sink{}
	l := logTo(t, Config{Format: "%(s)s"}, out, false)
	l.Answered(loop.Answer{Status: 200})
	l.Answered(loop.Answer{Status: 404})
	for end := time.Now().Add(10 * time.Second); out.text() != "200\n404\n"; {
		if time.Now().After(end) {
			t.Fatalf("the file has %q; want both lines without a Flush", out.text())
		}
		time.Sleep(time.Millisecond)
	}
	if err := l.Close(time.Second); err != nil || !out.closed {
		t.Errorf("Close = %v, closed %v", err, out.closed)
	}
	l.Answered(loop.Answer{Status: 500})
	if got := l.Stats(); got != (Stats{Lines: 2, Dropped: 1}) {
		t.Errorf("Stats = %+v; want 2 lines and the one behind Close dropped", got)
	}
	if err := l.Close(time.Second); err != ErrClosed {
		t.Errorf("second Close = %v; want ErrClosed", err)
	}
	if err := l.Flush(); err != ErrClosed {
		t.Errorf("Flush behind Close = %v; want ErrClosed", err)
	}
}

// The loop never waits for a file that takes nothing; what does not fit is
// dropped and counted, and what was taken is written when the file takes again.
func TestFullQueueDropsAndCounts(t *testing.T) {
	out := &sink{gate: make(chan struct{})}
	var said bytes.Buffer
	l := logTo(t, Config{Format: "%(s)s", QueueBytes: 400,
		Log: slog.New(slog.NewTextHandler(&said, nil))}, out, false)
	for range 500 {
		l.Answered(loop.Answer{Status: 200})
	}
	s := l.Stats()
	if s.Lines+s.Dropped != 500 || s.Lines < 100 || s.Lines > 201 {
		t.Errorf("Stats with a stuck file = %+v; want 100 to 200 lines of 500", s)
	}
	close(out.gate)
	if err := l.Close(10 * time.Second); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if got := strings.Count(out.text(), "200\n"); uint64(got) != s.Lines || len(out.text()) != 4*got {
		t.Errorf("the file has %d lines; want the %d that were taken", got, s.Lines)
	}
	if want := fmt.Sprintf("dropped=%d", s.Dropped); !strings.Contains(said.String(), want) {
		t.Errorf("the server's log says %q; want %s", said.String(), want)
	}
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	out := &sink{gate: make(chan struct{})}
	l := logTo(t, Config{Path: "f.log"}, out, false)
	l.Answered(loop.Answer{Status: 200})
	err := l.Close(20 * time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "f.log takes nothing") {
		t.Errorf("Close of a stuck file = %v", err)
	}
	close(out.gate)
	<-l.stopped
}

func TestFailedWritesAreCountedAndLinesStayWhole(t *testing.T) {
	full := errors.New("disk full")
	out := &sink{fail: func(p []byte) (int, error) { return 6, full }}
	l := logTo(t, Config{Format: "%(s)s"}, out, false)
	for _, status := range []int{201, 202, 203} {
		l.Answered(loop.Answer{Status: status})
	}
	if err := l.Flush(); err != full {
		t.Errorf("Flush = %v; want the file's error", err)
	}
	out.mu.Lock()
	out.fail = nil
	out.mu.Unlock()
	l.Answered(loop.Answer{Status: 204})
	if err := l.Close(10 * time.Second); err != nil {
		t.Errorf("Close = %v", err)
	}
	if got := out.text(); got != "201\n20\n204\n" {
		t.Errorf("the file has %q; want the torn line ended", got)
	}
	if got := l.Stats(); got != (Stats{Lines: 4, Failed: 2}) {
		t.Errorf("Stats = %+v; want 4 lines, 2 failed", got)
	}
}

// Two workers that share a pipe must not mix their lines.
func TestPipesGetWholeLines(t *testing.T) {
	out := &sink{}
	l := logTo(t, Config{Format: strings.Repeat("x", 1499)}, out, true)
	for range 10 {
		l.Answered(loop.Answer{})
	}
	if err := l.Close(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	for _, n := range out.pieces {
		if n > pipeBuf || n%1500 != 0 {
			t.Errorf("pieces of %d bytes; want whole lines, at most %d", out.pieces, pipeBuf)
			break
		}
	}
	if out.data.Len() != 15000 {
		t.Errorf("%d bytes written; want 15000", out.data.Len())
	}
	if n := wholeLines([]byte(strings.Repeat("y", 5000)+"\nz\n"), pipeBuf); n != 5001 {
		t.Errorf("a line longer than a pipe takes: a piece of %d; want 5001", n)
	}
}

func TestReopen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "access.log")
	l, err := Open(Config{Path: file, Format: "%(s)s"})
	if err != nil {
		t.Fatal(err)
	}
	l.Answered(loop.Answer{Status: 201})
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	if err := l.Reopen(); err != nil {
		t.Fatalf("Reopen: %v", err)
	}
	l.Answered(loop.Answer{Status: 202})
	if err := l.Flush(); err != nil {
		t.Fatalf("Flush: %v", err)
	}
	for name, want := range map[string]string{file + ".1": "201\n", file: "202\n"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", filepath.Base(name), got, err, want)
		}
	}
	broken := errors.New("no such folder any more")
	working := l.open
	l.open = func() (io.WriteCloser, bool, error) { return nil, false, broken }
	if err := l.Reopen(); err != broken {
		t.Errorf("Reopen = %v; want %v", err, broken)
	}
	l.open = working
	l.Answered(loop.Answer{Status: 203})
	if err := l.Close(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); string(got) != "202\n203\n" {
		t.Errorf("behind a Reopen that failed the file has %q; want 202 and 203", got)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, cfg := range []Config{
		{Format: "%(nothing)s"},
		{Path: filepath.Join(t.TempDir(), "none", "access.log")},
	} {
		if _, err := Open(cfg); err == nil || !strings.HasPrefix(err.Error(), "accesslog: ") {
			t.Errorf("Open(%+v) = %v; want an error", cfg, err)
		}
	}
}

func TestManyWritersOneLog(t *testing.T) {
	out := &sink{}
	l := logTo(t, Config{Format: "%(s)s", QueueBytes: 1 << 20}, out, false)
	var done sync.WaitGroup
	for g := range 4 {
		done.Go(func() {
			for range 1000 {
				l.Answered(loop.Answer{Status: 200 + g})
			}
		})
	}
	done.Wait()
	if err := l.Close(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	for g := range 4 {
		if n := strings.Count(out.text(), fmt.Sprintf("%d\n", 200+g)); n != 1000 {
			t.Errorf("%d lines of writer %d; want 1000", n, g)
		}
	}
}

func TestLinesAllocateNothing(t *testing.T) {
	x := exchange(t, "198.51.100.7:4242", browser)
	for _, format := range []string{"json", "combined", "%({x-trace}o)s %(L)s"} {
		l := logTo(t, Config{Format: format, QueueBytes: 4 << 20}, &sink{}, false)
		l.active = make([]byte, 0, 4<<20)
		n := testing.AllocsPerRun(1000, func() {
			l.Answered(loop.Answer{Exchange: x, Status: 200, Bytes: 1})
		})
		if n != 0 {
			t.Errorf("a line of %q allocates %v times", format, n)
		}
		if err := l.Close(10 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkAnswered(b *testing.B) {
	x := exchange(b, "198.51.100.7:4242", "GET /api/v1/items/17?limit=20 HTTP/1.1\n"+
		"Host: www.example.com\n"+
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0\n"+
		"Accept: text/html,application/xhtml+xml\nAccept-Language: en-US,en;q=0.5\n"+
		"Accept-Encoding: gzip, deflate, br, zstd\nReferer: https://www.example.com/items\n"+
		"Connection: keep-alive\nCookie: session=0123456789abcdef\nSec-Fetch-Mode: cors")
	for _, format := range []string{"json", "common", "combined"} {
		b.Run(format, func(b *testing.B) {
			l := newLog(Config{Format: format})
			var err error
			if l.atoms, err = compile(format, l.pid); err != nil {
				b.Fatal(err)
			}
			l.active = make([]byte, 0, 2<<20)
			b.ReportAllocs()
			for b.Loop() {
				l.Answered(loop.Answer{Exchange: x, Status: 200, Bytes: 5120, Took: 123456})
				if len(l.active) > 1<<19 { // as the writer does, who is not measured here
					l.active = l.active[:0]
				}
			}
		})
	}
}

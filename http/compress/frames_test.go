// SPDX-License-Identifier: MIT

package compress_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/compress"
	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/sse"
)

func frameCodings() []sse.Coding {
	return []sse.Coding{compress.ZstdFrames(), compress.GzipFrames()}
}

// decoder reads a coded stream.
func decoder(name string, r io.Reader) (io.Reader, error) {
	switch name {
	case "gzip":
		return gzip.NewReader(r)
	case "zstd":
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	}
	return r, nil
}

var errEarly = errors.New("more is asked for before the last frame was given out")

// A drip gives out one piece for each release.
type drip struct{ ready []byte }

func (d *drip) Read(p []byte) (int, error) {
	if len(d.ready) == 0 {
		return 0, errEarly
	}
	n := copy(p, d.ready)
	d.ready = d.ready[n:]
	return n, nil
}

// FuzzFrames: each frame is given out whole when its own bytes have arrived, behind
// whichever others it comes.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("data: a\n\n"), []byte("x"), []byte(strings.Repeat("abc", 1000)))
	f.Add([]byte("id: 1\n\n"), []byte{0, 255}, bytes.Repeat([]byte{7}, 70_000))
	codings := frameCodings()
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		for _, coding := range codings {
			for _, order := range [][][]byte{{a, b, c}, {c, a}, {b, b, b, c}} {
				checkFrames(t, coding, order)
			}
		}
	})
}

func checkFrames(t *testing.T, coding sse.Coding, bodies [][]byte) {
	t.Helper()
	in := &drip{ready: coding.Begin()}
	var out io.Reader
	for i, body := range bodies {
		if len(body) == 0 {
			continue
		}
		in.ready = coding.Encode(in.ready, body)
		if out == nil {
			var err error
			if out, err = decoder(coding.Name(), in); err != nil {
				t.Fatalf("%s: %v", coding.Name(), err)
			}
		}
		got := make([]byte, len(body))
		if n, err := io.ReadFull(out, got); err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%s: frame %d of %d bytes: %d, %v", coding.Name(), i, len(body), n, err)
		}
	}
}

// TestShortFramesHardlyGrow: a coding that is not worth it costs a few bytes.
func TestShortFramesHardlyGrow(t *testing.T) {
	noise := make([]byte, 1000)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	for _, coding := range frameCodings() {
		for _, body := range []string{
			":\n\n", ": hb\n\n", "data: 0123456789abcdefghijklmnopqrstuvwxyzAB\n\n", string(noise),
		} {
			if got := len(coding.Encode(nil, []byte(body))); got > len(body)+12 {
				t.Errorf("%s: %q is coded in %d bytes; want %d at most", coding.Name(), body, got,
					len(body)+12)
			}
		}
	}
}

// A listener reads one stream.
type listener struct {
	t    *testing.T
	resp *http.Response
	r    *bufio.Reader
}

func listen(t *testing.T, url, accept, lastID string) *listener {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	req, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
	req.Header.Set("Accept-Encoding", accept)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := both.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	want := strings.TrimSuffix(accept, "identity")
	if h := resp.Header; h.Get("Content-Encoding") != want || h.Get("Vary") != "Accept-Encoding" ||
		h.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("asked for %q: %v", accept, h)
	}
	r, err := decoder(want, resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{t, resp, bufio.NewReader(r)}
	l.wants(":\n\n")
	return l
}

func (l *listener) wants(block string) {
	l.t.Helper()
	got := make([]byte, len(block))
	if n, err := io.ReadFull(l.r, got); err != nil || string(got) != block {
		l.t.Fatalf("got %q, %v; want %q", got[:n], err, block)
	}
}

// serveHub serves a hub whose streams are coded, on each server.
func serveHub(t *testing.T, codings []sse.Coding, test func(t *testing.T, url string, h *sse.Hub)) {
	t.Helper()
	var hub *sse.Hub
	both.Serve(t, func() http.Handler {
		b := bus.Local()
		t.Cleanup(b.Close)
		hub = sse.NewHub(sse.HubConfig{Bus: b, Heartbeat: -1})
		hub.Start()
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			o := sse.HoldOptions{Channels: []string{"a"}, Codings: codings}
			if err := hub.Hold(w, r, o); err != nil {
				t.Errorf("Hold: %v", err)
			}
		})
	}, func(t *testing.T, url string) {
		defer hub.Drain(0, 0) // so that the server can be closed, whatever was found
		test(t, url, hub)
	})
}

// An audience listens to one hub.
type audience struct {
	t    *testing.T
	url  string
	hub  *sse.Hub
	all  []*listener
	ids  []uint64
	sent []string // blocks
}

// join makes listeners of each coding and of none.
func (a *audience) join(listeners int, lastID string) []*listener {
	before := len(a.all)
	for range listeners {
		for _, accept := range []string{"zstd", "gzip", "identity"} {
			a.all = append(a.all, listen(a.t, a.url, accept, lastID))
		}
	}
	return a.all[before:]
}

// publish sends so many events, and everybody reads them.
func (a *audience) publish(events int) {
	a.t.Helper()
	for i := range events {
		data := fmt.Sprintf("%d %s", i, strings.Repeat("words and more ", i*20))
		id, err := a.hub.PublishEvent("a", sse.Event{Data: data})
		if err != nil {
			a.t.Fatal(err)
		}
		a.ids = append(a.ids, id)
		a.sent = append(a.sent, fmt.Sprintf("id: %d\ndata: %s\n\n", id, data))
	}
	for _, l := range a.all {
		for _, block := range a.sent[len(a.sent)-events:] {
			l.wants(block)
		}
	}
}

// TestFramesAreCodedOnce: any number of streams of any coding and age share the work,
// and read what those read that are not coded.
func TestFramesAreCodedOnce(t *testing.T) {
	const listeners, events = 4, 20
	serveHub(t, frameCodings(), func(t *testing.T, url string, hub *sse.Hub) {
		a := &audience{t: t, url: url, hub: hub}
		a.join(listeners, "")
		before := hub.Stats().Coded // hellos, which are each stream's own
		a.publish(events)
		if got := hub.Stats().Coded - before; got != 2*events {
			t.Errorf("%d frames were coded %d times for %d streams; want %d", events, got, len(a.all),
				2*events)
		}
		// Who comes back gets what it has missed, out of the same bytes.
		before = hub.Stats().Coded
		for _, l := range a.join(listeners, fmt.Sprint(a.ids[0])) {
			for _, block := range a.sent[1:] {
				l.wants(block)
			}
		}
		if got := hub.Stats().Coded - before; got != uint64(2*listeners) {
			t.Errorf("replays were coded %d times; want the %d hellos", got, 2*listeners)
		}
		a.publish(events)
		hub.Drain(time.Second, 0)
		for _, l := range a.all {
			l.wants("retry: 1000\n\n")
			n, _ := io.Copy(io.Discard, l.r)
			_, err := l.resp.Body.Read(make([]byte, 1))
			if n > 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("behind a farewell: %d bytes, %v; want a stream that was cut", n, err)
			}
		}
	})
}

// TestNothingIsCodedForNobody: where no stream wants a coding none is made.
func TestNothingIsCodedForNobody(t *testing.T) {
	serveHub(t, frameCodings(), func(t *testing.T, url string, hub *sse.Hub) {
		coded := listen(t, url, "gzip", "")
		coded.resp.Body.Close()
		until(t, func() bool { return hub.Stats().Streams == 0 })
		plain := listen(t, url, "identity", "")
		before := hub.Stats().Coded
		if _, err := hub.PublishEvent("a", sse.Event{Data: "x"}); err != nil {
			t.Fatal(err)
		}
		if _, err := plain.r.ReadString('x'); err != nil {
			t.Fatal(err)
		}
		if got := hub.Stats().Coded; got != before {
			t.Errorf("%d frames were coded for nobody", got-before)
		}
		plain.resp.Body.Close()
		until(t, func() bool { return hub.Stats().Streams == 0 })
	})
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}

// TestCurlReadsFrames: a client that we did not write reads each event as it comes.
func TestCurlReadsFrames(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skipf("curl is not here: %v", err)
	}
	for _, coding := range frameCodings() {
		serveHub(t, []sse.Coding{coding}, func(t *testing.T, url string, hub *sse.Hub) {
			curlReads(t, curl, url, coding.Name(), hub)
		})
	}
}

func curlReads(t *testing.T, curl, url, coding string, hub *sse.Hub) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, curl, "-sN", "--compressed", "--noproxy", "*", "-i",
		"-H", "Accept-Encoding: "+coding, url)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	r := bufio.NewReader(out)
	until := func(want string) {
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatalf("curl, %s: %v before %q", coding, err, want)
			}
			if strings.EqualFold(strings.TrimSpace(line), want) {
				return
			}
		}
	}
	until("content-encoding: " + coding)
	until(":")
	for i := range 5 {
		data := fmt.Sprintf("%d %s", i, strings.Repeat("words ", 20*i))
		if _, err := hub.PublishEvent("a", sse.Event{Data: data}); err != nil {
			t.Fatal(err)
		}
		until("data: " + strings.TrimSpace(data))
	}
}

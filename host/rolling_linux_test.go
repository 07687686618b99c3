// SPDX-License-Identifier: MIT

package host

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/http/sse"
)

// load sends requests from several clients, each on connections of its own that
// live for some requests, until stop is closed.
type load struct {
	stop   chan struct{}
	done   sync.WaitGroup
	sent   atomic.Int64
	failed atomic.Int64
	mu     sync.Mutex
	first  error // of the failures
}

func startLoad(t *testing.T, url string, clients int) *load {
	l := &load{stop: make(chan struct{})}
	for i := range clients {
		l.done.Go(func() { l.run(url, i) })
	}
	t.Cleanup(l.end)
	return l
}

func (l *load) run(url string, client int) {
	transport := &http.Transport{DisableKeepAlives: client%2 == 0}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport, Timeout: patience}
	for {
		select {
		case <-l.stop:
			return
		default:
		}
		l.sent.Add(1)
		if err := get(c, url); err != nil {
			l.failed.Add(1)
			l.mu.Lock()
			if l.first == nil {
				l.first = err
			}
			l.mu.Unlock()
		}
	}
}

func get(c *http.Client, url string) error {
	resp, err := c.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), " of ") {
		return fmt.Errorf("%s: %q", resp.Status, body)
	}
	return nil
}

func (l *load) end() {
	select {
	case <-l.stop:
	default:
		close(l.stop)
	}
	l.done.Wait()
}

// TestHangupLosesNoRequest sends requests at one worker's successor after the
// other's: none may fail.
func TestHangupLosesNoRequest(t *testing.T) {
	want := int64(20_000)
	if testing.Short() {
		want = 2000
	}
	const workers, hangups = 2, 8
	f := startFleet(t, "serve", workers)
	l := startLoad(t, f.url(t), 8)
	for n := 1; n <= hangups || l.sent.Load() < want; n++ {
		if err := f.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		f.untilCount(t, "every worker is replaced", n)
	}
	l.end()
	if l.failed.Load() > 0 {
		t.Errorf("%d of %d requests failed, first: %v", l.failed.Load(), l.sent.Load(), l.first)
	}
	if code := f.stop(t); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
	text := f.String()
	handlers := strings.Count(text, "builds handler")
	if handlers < workers*(hangups+1) || strings.Contains(text, "level=ERROR") {
		t.Errorf("%d handlers were built in %d restarts of %d workers, or an error was logged:\n%s",
			handlers, hangups, workers, text)
	}
	if n := strings.Count(text, "listening"); n != 1 {
		t.Errorf("%d banners, want 1", n)
	}
}

func (f *fleet) untilCount(t *testing.T, text string, n int) {
	t.Helper()
	for deadline := time.Now().Add(patience); strings.Count(f.String(), text) < n; {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for %q, %d times:\n%s", patience, text, n, f)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// numbered is an application whose producer publishes 1, 2, 3, … every two
// milliseconds. The number is on the page, so that it goes on in a successor.
func numbered() App {
	return App{
		Name:      "numbered",
		PageSlots: func(int) int { return 2 },
		Handler: func(c *Context) (http.Handler, error) {
			mux := http.NewServeMux()
			mux.HandleFunc("GET /numbers", func(w http.ResponseWriter, r *http.Request) {
				err := c.Hub.Hold(w, r, sse.HoldOptions{Channels: []string{"numbers"}})
				if err != nil {
					http.Error(w, err.Error(), http.StatusServiceUnavailable)
				}
			})
			mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintln(os.Stderr, "slow request")
				time.Sleep(time.Second)
			})
			return mux, nil
		},
		Producer: func(c *Context) (Producer, error) {
			step := func(step int, out *Publisher) (time.Duration, error) {
				if step == 1 {
					fmt.Fprintln(os.Stderr, "first step")
				}
				if !c.Page[1].CompareAndSwap(0, 1) {
					return 0, fmt.Errorf("two producers step at once")
				}
				defer c.Page[1].Store(0)
				time.Sleep(time.Millisecond) // of work, which a second one would meet
				n := c.Page[0].Add(1)
				_, err := out.PublishEvent("numbers", sse.Event{Data: strconv.FormatUint(n, 10)})
				return 2 * time.Millisecond, err
			}
			return &counted{step: step}, nil
		},
	}
}

// TestHangupLosesNoEventOfAStream holds streams through rolling restarts, each
// coming back where it was cut: every number must arrive once, in order. That
// holds only if the duties of worker 0 are in one process at a time as well.
func TestHangupLosesNoEventOfAStream(t *testing.T) {
	const streams, hangups = 4, 6
	f := startFleetWith(t, "numbers", 2, func(c *exec.Cmd) { // a journal for any machine
		c.Env = append(c.Env, "M0_JOURNAL=16384")
	})
	url := f.url(t)
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	var cuts, numbers atomic.Int64
	for range streams {
		readers.Go(func() {
			if err := readNumbers(ctx, url+"/numbers", &cuts, &numbers); err != nil {
				t.Error(err)
			}
		})
	}
	defer readers.Wait()
	defer cancel()
	for n := range hangups {
		before := numbers.Load()
		if err := f.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		f.untilCount(t, "every worker is replaced", n+1)
		for deadline := time.Now().Add(patience); numbers.Load() < before+streams*10; {
			if time.Now().After(deadline) {
				t.Fatalf("no numbers come after restart %d:\n%s", n+1, f)
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	cancel()
	readers.Wait()
	if cuts.Load() < streams*hangups/2 {
		t.Errorf("streams were cut %d times in %d restarts: the test saw nothing",
			cuts.Load(), hangups)
	}
	if f.stop(t); strings.Contains(f.String(), "two producers") {
		t.Error("two producers ran at once")
	}
}

// readNumbers reads a stream, coming back whenever it is cut, until ctx ends.
func readNumbers(ctx context.Context, url string, cuts, numbers *atomic.Int64) error {
	parser, last := &sse.Parser{}, uint64(0)
	for ctx.Err() == nil {
		r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
		if err != nil {
			return err
		}
		if parser.LastID != "" {
			r.Header.Set("Last-Event-ID", parser.LastID)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			if ctx.Err() == nil {
				return fmt.Errorf("not let in again behind %d: %w", last, err)
			}
			return nil
		}
		parser = &sse.Parser{LastID: parser.LastID}
		err = readStream(resp, parser, &last, numbers)
		resp.Body.Close()
		if err != nil {
			return err
		}
		cuts.Add(1)
	}
	return nil
}

// readStream reads until the stream is cut; an error is a number out of turn.
func readStream(resp *http.Response, p *sse.Parser, last *uint64, numbers *atomic.Int64) error {
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("stream behind %d: %s", *last, resp.Status)
	}
	var wrong error
	body, buf := bufio.NewReader(resp.Body), make([]byte, 4096)
	for wrong == nil {
		n, err := body.Read(buf)
		errFeed := p.Feed(buf[:n], func(e sse.Event) {
			got, err := strconv.ParseUint(e.Data, 10, 64)
			if wrong == nil && (err != nil || e.Name != "message" || *last != 0 && got != *last+1) {
				wrong = fmt.Errorf("event %q %q behind number %d", e.Name, e.Data, *last)
			}
			*last = got
			numbers.Add(1)
		})
		if errFeed != nil {
			return errFeed
		}
		if err != nil {
			break
		}
	}
	return wrong
}

// TestProducerIsHandedOverBeforeTheDrainEnds: the successor's producer does not
// wait for a slow request that the old worker still answers.
func TestProducerIsHandedOverBeforeTheDrainEnds(t *testing.T) {
	const slow = 8 // so that each worker has some
	f := startFleet(t, "numbers", 2)
	url := f.url(t)
	var clients sync.WaitGroup
	defer clients.Wait()
	for range slow {
		clients.Go(func() {
			if resp, err := http.Get(url + "/slow"); err != nil {
				t.Error(err)
			} else {
				resp.Body.Close()
			}
		})
	}
	f.untilCount(t, "slow request", slow)
	if err := f.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	f.untilCount(t, "every worker is replaced", 1)
	before, _, _ := strings.Cut(f.String(), "worker: ended")
	if n := strings.Count(before, "first step"); n != 2 {
		t.Errorf("%d producers had stepped when the old worker ended, want its successor's too", n)
	}
	f.stop(t)
}

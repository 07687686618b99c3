// SPDX-License-Identifier: MIT

//go:build unix

package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/http/server"
	"m0serve.dev/http/sse"
	"m0serve.dev/http/worker"
)

// output is a standard error that can be read while it is written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

const patience = 20 * time.Second

var banner = regexp.MustCompile(`listening on (https?://127\.0\.0\.1:\d+) \(workers (\d+)\)\n`)

// started runs app in this process and waits for its banner.
func started(t *testing.T, app App) (url string, out *output, exit <-chan int) {
	t.Helper()
	t.Setenv("M0_PORT", "0")
	out = &output{}
	code := make(chan int, 1)
	go func() { code <- run(app, io.Discard, out) }()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if m := banner.FindStringSubmatch(out.String()); m != nil {
			return m[1], out, code
		}
		select {
		case c := <-code:
			t.Fatalf("exit %d before it listened:\n%s", c, out)
		case <-time.After(time.Millisecond):
		}
	}
	t.Fatalf("no banner within %v:\n%s", patience, out)
	return "", nil, nil
}

// stop sends this process a signal and waits for the exit status.
func stop(t *testing.T, exit <-chan int) int {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case code := <-exit:
		return code
	case <-time.After(patience):
		t.Fatalf("still serving %v after SIGTERM", patience)
		return -1
	}
}

func hello(*Context) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello")
	}), nil
}

func TestServesUntilTold(t *testing.T) {
	url, out, exit := started(t, App{Handler: hello})
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(body) != "hello" {
		t.Errorf("GET / = %q, want hello", body)
	}
	if code := stop(t, exit); code != 0 {
		t.Errorf("exit %d after SIGTERM, want 0\n%s", code, out)
	}
}

func TestContextIsFilled(t *testing.T) {
	var got Context
	app := App{
		PageSlots: func(workers int) int { return 3 * workers },
		Handler:   func(c *Context) (http.Handler, error) { got = *c; return hello(c) },
	}
	t.Setenv("M0_JOURNAL", "7")
	_, _, exit := started(t, app)
	stop(t, exit)
	if got.Index != 0 || got.Workers != 1 || len(got.Page) != 3 || got.Publisher == nil ||
		got.Log == nil || got.Config.Journal != 7 {
		t.Errorf("context = %+v, want worker 0 of 1 with 3 words and everything else", got)
	}
}

func TestPublishedEventsReachAStream(t *testing.T) {
	url, _, exit := started(t, App{
		Handler: func(c *Context) (http.Handler, error) {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if err := c.Hub.Hold(w, r, sse.HoldOptions{Channels: []string{"beat"}}); err != nil {
					t.Error(err)
				}
			}), nil
		},
		Producer: func(*Context) (Producer, error) {
			return &counted{step: func(n int, out *Publisher) (time.Duration, error) {
				_, err := out.PublishEvent("beat", sse.Event{Name: "tick", Data: fmt.Sprint(n)})
				return time.Millisecond, err
			}}, nil
		},
	})
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var ids []uint64
	for lines := bufio.NewScanner(resp.Body); len(ids) < 5 && lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			n, err := strconv.ParseUint(id, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, n)
		}
	}
	if len(ids) != 5 || !slices.IsSorted(ids) {
		t.Errorf("ids of the stream = %v, want five that grow", ids)
	}
	if code := stop(t, exit); code != 0 {
		t.Errorf("exit %d with a held stream, want 0", code)
	}
	if rest, err := io.ReadAll(resp.Body); err == nil || !strings.Contains(string(rest), "retry: ") {
		t.Errorf("the stream ended with %v and %q, want it cut behind a retry", err, rest)
	}
}

func TestSettingsReachTheServer(t *testing.T) {
	t.Setenv("M0_MAX_BODY", "1000")
	t.Setenv("M0_MAX_HEAD", "1k")
	url, _, exit := started(t, App{Handler: hello})
	defer stop(t, exit)
	big := strings.NewReader(strings.Repeat("x", 1001))
	resp, err := http.Post(url, "text/plain", big)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("POST of 1001 bytes with M0_MAX_BODY=1000 = %d, want 413", resp.StatusCode)
	}
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Long", strings.Repeat("x", 1024))
	if resp, err = http.DefaultClient.Do(req); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a head above M0_MAX_HEAD=1k = %d, want 431", resp.StatusCode)
	}
}

func TestSettingsBecomeTheServersConfig(t *testing.T) {
	for name, value := range map[string]string{
		"M0_THREADS": "2", "M0_BLOCKING_THREADS": "3", "M0_MAX_CONNS": "5",
		"M0_MAX_HEAD": "2k", "M0_MAX_BODY": "0", "M0_DRAIN_S": "0.5",
	} {
		t.Setenv(name, value)
	}
	var got server.Config
	_, _, exit := started(t, App{Handler: hello,
		Config: func(_ *Context, cfg *server.Config) { got = *cfg }})
	stop(t, exit)
	if got.Loops != 2 || got.BlockingMax != 3 || got.MaxConns != 5 || got.MaxBody != -1 ||
		got.Limits.HeadBytes != 2048 || got.DrainTimeout != 500*time.Millisecond {
		t.Errorf("server.Config = %+v, want the settings in it", got)
	}
}

func TestConfigAdjustsTheServer(t *testing.T) {
	answered := make(chan int, 16)
	url, _, exit := started(t, App{Handler: hello, Config: func(c *Context, s *server.Config) {
		s.Answered = func(a server.Answer) { answered <- a.Status }
		s.HTTP = http.NotFoundHandler() // the host's to set
		s.Accepted = func(int) bool { return false }
	}})
	defer stop(t, exit)
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := <-answered; got != 200 || resp.StatusCode != 200 {
		t.Errorf("answered %d, got %d; want 200 from the application's handler", got, resp.StatusCode)
	}
}

func TestStatsShowTheWorker(t *testing.T) {
	var c *Context
	url, _, exit := started(t, App{Handler: func(ctx *Context) (http.Handler, error) {
		c = ctx
		return hello(ctx)
	}})
	defer stop(t, exit)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s := c.Stats()
		if len(s) == 1 && s[0].Connections == 1 && s[0].State == "ready" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("Stats with one connection = %+v, want worker 0, ready, with 1", s)
		}
	}
}

func TestRefusalsComeBeforeTheBanner(t *testing.T) {
	for _, c := range []struct{ name, value, cure string }{
		{"M0_WORKERS", "0", "1 to"},
		{"M0_WORKERS", "2", "serves from 1 at most"},
		{"M0_WORKERS", "many", "whole number"},
		{"M0_PORT", "http", "whole number"},
		{"M0_PORT", "70000", "whole number"},
		{"M0_HOST", "unix", "an address or a name"},
		{"M0_HOST", "unix:/run/app.sock", "an address or a name"},
		{"M0_HOST", "127.0.0.1:80", "the port goes to --port"},
		{"M0_HOST", "300.0.0.1", "an address or a name"},
		{"M0_SPAWN_WORKERS", "0", "never forked"},
		{"M0_SPAWN_WORKERS", "false", "never forked"},
		{worker.EnvSpawned, "1", "unset it"},
		{worker.EnvSpawned, "0", "unset it"},
		{worker.EnvListener, "3", "unset it"},
		{worker.EnvLife, "3", "unset it"},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			t.Setenv("M0_PORT", "0")
			t.Setenv(c.name, c.value)
			app := App{Name: "app", MaxWorkers: 1, Handler: func(*Context) (http.Handler, error) {
				t.Error("the handler was built")
				return nil, nil
			}}
			var out bytes.Buffer
			code := run(app, io.Discard, &out)
			text := out.String()
			if code != 78 || !strings.HasPrefix(text, "host: ") ||
				!strings.Contains(text, c.name) || !strings.Contains(text, c.cure) ||
				strings.Contains(text, "listening") {
				t.Errorf("exit %d, printed %q; want 78, the name and %q under host:, no banner",
					code, text, c.cure)
			}
		})
	}
}

func TestSpawnedWorkersAreAllThereIs(t *testing.T) {
	t.Setenv("M0_SPAWN_WORKERS", "1")
	_, _, exit := started(t, App{Handler: hello})
	if code := stop(t, exit); code != 0 {
		t.Errorf("exit %d with M0_SPAWN_WORKERS=1, want 0: it asks for what is", code)
	}
}

func TestEveryProblemIsPrintedAtOnce(t *testing.T) {
	t.Setenv("M0_PORT", "x")
	t.Setenv("M0_SPAWN_WORKERS", "0")
	var out bytes.Buffer
	run(App{Handler: hello}, io.Discard, &out)
	if n := strings.Count(out.String(), "host: "); n != 2 {
		t.Errorf("printed %d lines under host:, want 2:\n%s", n, &out)
	}
}

func TestPartThatCannotBeBuiltIsARefusal(t *testing.T) {
	fails := errors.New("no such table")
	for name, app := range map[string]App{
		"handler error": {Handler: func(*Context) (http.Handler, error) { return nil, fails }},
		"handler panic": {Handler: func(*Context) (http.Handler, error) { panic(fails) }},
		"producer error": {Handler: hello,
			Producer: func(*Context) (Producer, error) { return nil, fails }},
		"producer panic": {Handler: hello,
			Producer: func(*Context) (Producer, error) { panic(fails) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("M0_PORT", "0")
			var out bytes.Buffer
			code, text := run(app, io.Discard, &out), out.String()
			what, _, _ := strings.Cut(name, " ")
			if code != 78 || !strings.HasPrefix(text, "host: the "+what+" cannot be built") ||
				!strings.Contains(text, "no such table") || strings.Contains(text, "listening") ||
				strings.Contains(text, "goroutine") {
				t.Errorf("exit %d, printed %q; want 78 and the reason, no banner, no trace", code, text)
			}
		})
	}
}

func TestHandlerThatIsNilIsARefusal(t *testing.T) {
	t.Setenv("M0_PORT", "0")
	var out bytes.Buffer
	none := func(*Context) (http.Handler, error) { return nil, nil }
	code := run(App{Handler: none}, io.Discard, &out)
	if code != 78 || !strings.Contains(out.String(), "got nil") {
		t.Errorf("exit %d, printed %q; want 78 for a handler that is nil", code, &out)
	}
}

func TestTakenPortIsAFailure(t *testing.T) {
	url, _, exit := started(t, App{Handler: hello})
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	t.Setenv("M0_PORT", port)
	var out bytes.Buffer
	code := run(App{Handler: hello}, io.Discard, &out)
	want := "host: M0_PORT=\"" + port + "\": 127.0.0.1:" + port + " is taken by another process: see"
	if code != 1 || !strings.HasPrefix(out.String(), want) {
		t.Errorf("exit %d, printed %q; want 1 and %q…", code, &out, want)
	}
	out.Reset()
	code = run(App{Handler: hello, Args: []string{"--host=192.0.2.1"}}, io.Discard, &out)
	want = "host: --host \"192.0.2.1\": 192.0.2.1:" + port + " is no address of this machine: use"
	if code != 1 || !strings.HasPrefix(out.String(), want) {
		t.Errorf("exit %d, printed %q; want 1 and %q…", code, &out, want)
	}
	stop(t, exit)
}

// a stuck producer sits in its step until released.
type stuck struct{ entered, release chan struct{} }

func (p stuck) Step(*Publisher) (time.Duration, error) {
	close(p.entered)
	<-p.release
	return time.Hour, nil
}

func TestStepThatDoesNotEndIsAbandonedByName(t *testing.T) {
	t.Setenv("M0_DRAIN_S", "0.3")
	p := stuck{make(chan struct{}), make(chan struct{})}
	defer close(p.release)
	_, out, exit := started(t, App{Handler: hello,
		Producer: func(*Context) (Producer, error) { return p, nil }})
	<-p.entered
	began := time.Now()
	code := stop(t, exit)
	took := time.Since(began)
	const want = "host: abandoned a producer step still running 0.3 s after the drain;" +
		" exiting without it\n"
	if code != 0 || !strings.Contains(out.String(), want) {
		t.Errorf("exit %d, printed %q; want 0 and %q", code, out, want)
	}
	if took < 300*time.Millisecond {
		t.Errorf("left %v after SIGTERM, want the whole drain of 300ms", took)
	}
}

func TestProducerAndDrainHaveOneBound(t *testing.T) {
	t.Setenv("M0_DRAIN_S", "2")
	p := stuck{make(chan struct{}), make(chan struct{})}
	defer close(p.release)
	inside := make(chan struct{})
	url, out, exit := started(t, App{
		Handler: func(*Context) (http.Handler, error) {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(inside)
				<-p.release
			}), nil
		},
		Producer: func(*Context) (Producer, error) { return p, nil },
	})
	go func() {
		if resp, err := http.Get(url); err == nil {
			resp.Body.Close()
		}
	}()
	<-p.entered
	<-inside
	began := time.Now()
	code := stop(t, exit)
	if took := time.Since(began); code != 1 || took < 2*time.Second || took > 3900*time.Millisecond {
		t.Errorf("exit %d, %v after SIGTERM; want 1 after one drain of 2s, not two\n%s",
			code, took, out)
	}
	for _, text := range []string{"abandoned a producer step", "the drain was not over"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("printed %q, want %q in it", out, text)
		}
	}
}

func TestSecondSignalEndsTheDrain(t *testing.T) {
	p := stuck{make(chan struct{}), make(chan struct{})}
	defer close(p.release)
	t.Setenv("M0_DRAIN_S", "60")
	_, out, exit := started(t, App{Handler: hello,
		Producer: func(*Context) (Producer, error) { return p, nil }})
	<-p.entered
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case code := <-exit:
		if code != 1 || !strings.Contains(out.String(), "second signal") {
			t.Errorf("exit %d, printed %q; want 1 for the second signal", code, out)
		}
	case <-time.After(patience):
		t.Fatal("the second signal did not end the drain")
	}
}

func TestStopDuringTheBuildIsClean(t *testing.T) {
	t.Setenv("M0_PORT", "0")
	building, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	out := &output{}
	exit := make(chan int, 1)
	go func() {
		exit <- run(App{Handler: func(*Context) (http.Handler, error) {
			close(building)
			<-release
			return nil, errors.New("late")
		}}, io.Discard, out)
	}()
	<-building
	if code := stop(t, exit); code != 0 || out.String() != "" {
		t.Errorf("exit %d, printed %q; want 0 and nothing", code, out)
	}
}

func TestFailingStepLeavesTheServerServing(t *testing.T) {
	failed := make(chan struct{})
	url, out, exit := started(t, App{Name: "clock", Handler: hello,
		Producer: func(*Context) (Producer, error) {
			return &counted{step: func(int, *Publisher) (time.Duration, error) {
				defer close(failed)
				return 0, errors.New("no ink")
			}}, nil
		}})
	<-failed
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if code := stop(t, exit); code != 0 || !strings.Contains(out.String(), "no ink") {
		t.Errorf("exit %d, printed %q; want 0 and the reason", code, out)
	}
}

func TestMainWithoutHandlerIsAMistake(t *testing.T) {
	defer func() {
		if v := recover(); v == nil || !strings.Contains(v.(string), "Handler") {
			t.Errorf("Run without a handler: recovered %v, want a sentence about it", v)
		}
	}()
	Run(App{})
}

// SPDX-License-Identifier: MIT

package host

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/http/server"
)

// The tests of this file run the test binary again as a service of several
// workers, each of which says what it builds.
const roleEnv = "HOST_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	// A test that was cut short leaves nobody behind.
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(9) }()
	switch role {
	case "flood":
		Main(flooded())
	case "numbers":
		Main(numbered())
	}
	Main(crew(role))
}

// crew is an application whose workers count themselves on the page.
func crew(role string) App {
	return App{
		Name:      "crew",
		PageSlots: func(workers int) int { return workers },
		Handler: func(c *Context) (http.Handler, error) {
			if role == "slow worker 1" && c.Index == 1 {
				time.Sleep(300 * time.Millisecond)
			}
			fmt.Fprintf(os.Stderr, "builds handler %d of %d\n", c.Index, c.Workers)
			c.Page[0].Add(1)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintf(w, "%d of %d", c.Page[0].Load(), len(c.Page))
			}), nil
		},
		Config: func(c *Context, cfg *server.Config) {
			var once sync.Once
			cfg.TickEvery = time.Millisecond
			cfg.Tick = func() {
				once.Do(func() { fmt.Fprintf(os.Stderr, "ticks in %d\n", c.Index) })
			}
		},
		Producer: func(c *Context) (Producer, error) {
			fmt.Fprintf(os.Stderr, "builds producer in %d\n", c.Index)
			if role == "no producer" {
				return nil, errors.New("no ink")
			}
			step := func(int, *Publisher) (time.Duration, error) { return time.Hour, nil }
			return &counted{step: step}, nil
		},
	}
}

// a fleet is such a service under test.
type fleet struct {
	*output
	cmd  *exec.Cmd
	done chan struct{}
}

func startFleet(t *testing.T, role string, workers int) *fleet {
	t.Helper()
	return startFleetWith(t, role, workers, func(*exec.Cmd) {})
}

func startFleetWith(t *testing.T, role string, workers int, adjust func(*exec.Cmd)) *fleet {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{output: &output{}, cmd: exec.Command(self), done: make(chan struct{})}
	// The race detector would hold every process for a second at its end.
	f.cmd.Env = append(os.Environ(), roleEnv+"="+role, "M0_PORT=0", "GORACE=atexit_sleep_ms=0",
		fmt.Sprintf("M0_WORKERS=%d", workers))
	f.cmd.Stdout, f.cmd.Stderr = f, f
	adjust(f.cmd)
	stdin, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	f.cmd.Stdin = stdin
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = stdin.Close()
	go func() { _ = f.cmd.Wait(); close(f.done) }()
	t.Cleanup(func() {
		_ = held.Close()
		<-f.done
		if t.Failed() {
			t.Logf("printed:\n%s", f)
		}
	})
	return f
}

var manyBanner = regexp.MustCompile(`listening on (https?://127\.0\.0\.1:\d+) \(workers \d+\)\n`)

// url waits for the banner.
func (f *fleet) url(t *testing.T) string {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if m := manyBanner.FindStringSubmatch(f.String()); m != nil {
			return m[1]
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatalf("no banner within %v:\n%s", patience, f)
	return ""
}

func (f *fleet) until(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(f.String(), text); {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for %q:\n%s", patience, text, f)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (f *fleet) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-f.done:
		return f.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("the service still runs after %v", patience)
		return -1
	}
}

func (f *fleet) stop(t *testing.T) int {
	t.Helper()
	if err := f.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return f.wait(t)
}

func TestWorkerZeroAloneRunsTheProducer(t *testing.T) {
	f := startFleet(t, "serve", 3)
	f.url(t)
	if code := f.stop(t); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
	if handlers := strings.Count(f.String(), "builds handler"); handlers != 3 {
		t.Errorf("%d handlers were built, want one in each of 3 workers", handlers)
	}
	if n := strings.Count(f.String(), "builds producer"); n != 1 ||
		!strings.Contains(f.String(), "builds producer in 0\n") {
		t.Errorf("%d producers were built, want one, in worker 0", n)
	}
}

func TestTickRunsInWorkerZeroAlone(t *testing.T) {
	f := startFleet(t, "serve", 2)
	url := f.url(t)
	f.until(t, "ticks in 0\n")
	// Connections of their own come to both workers, and a loop that answers ticks, too,
	// when it is time: every millisecond.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for began, n := time.Now(), 0; n < 50 || time.Since(began) < 50*time.Millisecond; n++ {
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	f.stop(t)
	if strings.Contains(f.String(), "ticks in 1") {
		t.Error("worker 1 ticks, want worker 0 alone")
	}
}

func TestAppPageIsSharedByTheWorkers(t *testing.T) {
	f := startFleet(t, "serve", 3)
	resp, err := http.Get(f.url(t))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if string(body) != "3 of 3" {
		t.Errorf("workers counted on the page, and its words: %q, want 3 of 3", body)
	}
	f.stop(t)
}

func TestBannerComesWhenTheLastWorkerServes(t *testing.T) {
	f := startFleet(t, "slow worker 1", 2)
	f.url(t)
	before, _, _ := strings.Cut(f.String(), "listening")
	if !strings.Contains(before, "builds handler 1 of 2") {
		t.Errorf("printed %q before the banner, want both handlers built", before)
	}
	f.stop(t)
	if n := strings.Count(f.String(), "listening"); n != 1 {
		t.Errorf("%d banners, want 1", n)
	}
}

func TestProducerThatCannotBeBuiltEndsTheSiblings(t *testing.T) {
	f := startFleet(t, "no producer", 2)
	if code := f.wait(t); code != 78 {
		t.Errorf("exit %d, want 78", code)
	}
	if text := f.String(); !strings.Contains(text, "host: the producer cannot be built: no ink") ||
		strings.Contains(text, "listening") || strings.Count(text, "builds producer") != 1 {
		t.Errorf("printed %q, want the reason once and no banner", text)
	}
}

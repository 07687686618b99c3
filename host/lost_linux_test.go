// SPDX-License-Identifier: MIT

package host

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/http/sse"
)

// flooded is an application that can be made to publish more than a stopped
// worker's channel holds.
func flooded() App {
	return App{Name: "flooded", Handler: func(c *Context) (http.Handler, error) {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /quiet", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Pid", strconv.Itoa(os.Getpid()))
			w.Header().Set("X-Worker", strconv.Itoa(c.Index))
			if err := c.Hub.Hold(w, r, sse.HoldOptions{Channels: []string{"quiet"}}); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
			}
		})
		mux.HandleFunc("GET /who", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, c.Index)
		})
		mux.HandleFunc("POST /flood", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, flood(c))
		})
		return mux, nil
	}}
}

// flood publishes until frames for worker 1 were dropped, and says how many.
func flood(c *Context) uint64 {
	body := make([]byte, 60<<10)
	for range 4000 {
		// A refusal is what this is about.
		_ = c.Publisher.Publish("loud", "", c.Publisher.NextID(), body)
		if drops := c.Stats()[1].Drops; drops > 0 {
			return drops
		}
	}
	return 0
}

// TestStreamsHearThatTheirWorkerLostFrames: a worker that was stopped while
// others published more than its channel holds has missed events of any
// channel. Its streams are cut, so that their clients ask for what they missed.
func TestStreamsHearThatTheirWorkerLostFrames(t *testing.T) {
	f := startFleet(t, "flood", 2)
	url := f.url(t)
	quiet := holdOn(t, url, "1")
	pid, err := strconv.Atoi(quiet.Header.Get("X-Pid"))
	if err != nil {
		t.Fatal(err)
	}
	publisher := connectTo(t, url, "0")
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resp, err := publisher.Post(url+"/flood", "", nil)
	errCont := syscall.Kill(pid, syscall.SIGCONT)
	if err != nil || errCont != nil {
		t.Fatal(err, errCont)
	}
	drops, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(drops) == "0" {
		t.Fatal("vacuous: the stopped worker's channel took everything")
	}
	ended := make(chan error, 1)
	go func() { _, err := io.Copy(io.Discard, quiet.Body); ended <- err }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the stream ended cleanly, want it cut: its client would not come back")
		}
	case <-time.After(patience / 2):
		t.Errorf("frames were dropped for the worker (%s) and its stream goes on in silence", drops)
	}
	f.stop(t)
}

// holdOn opens streams until one is on the worker.
func holdOn(t *testing.T, url, worker string) *http.Response {
	t.Helper()
	for range 32 {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Get(url + "/quiet")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		if resp.Header.Get("X-Worker") == worker {
			return resp
		}
	}
	t.Fatalf("vacuous: no stream of 32 is on worker %s", worker)
	return nil
}

// connectTo gives a client whose one connection is on the worker.
func connectTo(t *testing.T, url, worker string) *http.Client {
	t.Helper()
	for range 32 {
		client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
		t.Cleanup(client.CloseIdleConnections)
		resp, err := client.Get(url + "/who")
		if err != nil {
			t.Fatal(err)
		}
		who, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(who) == worker {
			return client
		}
	}
	t.Fatalf("vacuous: no connection of 32 is on worker %s", worker)
	return nil
}

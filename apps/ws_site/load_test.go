// SPDX-License-Identifier: MIT

//go:build linux

package wssite

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/pyvenv"
	"m0serve.dev/apps/internal/rawws"
	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/http/ws"
)

// TestSlowView: a view that takes its time holds up its own socket alone: others are
// answered on the other thread, and what is published needs none.
func TestSlowView(t *testing.T) {
	s := startWith(t, pyserver.Config{Workers: 1, Threads: 2})
	slow, began := s.open(on("a")), time.Now()
	slow.send(tell(map[string]any{"sleep": 4, "body": "slept"}))
	slow.send("behind")
	for i := range 20 {
		c := s.open(on("a"))
		c.send(fmt.Sprint(i))
		c.want(fmt.Sprint("echo ", i))
	}
	s.publish("a", "all")
	slow.want("all")
	if took := time.Since(began); took > 3900*time.Millisecond {
		t.Errorf("others waited for %v behind a slow view", took)
	}
	slow.want("slept")
	slow.want("echo behind")
	if took := time.Since(began); took < 4*time.Second {
		t.Errorf("vacuous: the slow view took %v", took)
	}
}

// TestOneThread: while the only thread is in a view, sockets open and close, pings are
// answered, and what is published arrives.
func TestOneThread(t *testing.T) {
	s := start(t, 1)
	c, other := s.open(on("a")), s.open(on("a"))
	began := time.Now()
	c.send(tell(map[string]any{"sleep": 4, "body": "slept"}))
	other.frame(ws.OpPing, true, "p")
	if op, data, err := other.Next(rawws.Timeout); op != ws.OpPong || data != "p" || err != nil {
		t.Errorf("a ping is answered by %d %q, %v", op, data, err)
	}
	cmd := exec.Command(pyvenv.Python(t), "-m", "m0pub", "a", "from outside")
	cmd.Env = append(os.Environ(), "PYTHONPATH=../../wsgi/python")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("m0pub: %v\n%s", err, out)
	}
	c.want("from outside")
	other.want("from outside")
	if err := other.CloseWith(1000, ""); err != nil {
		t.Fatal(err)
	}
	other.wantEnd(1000)
	if took := time.Since(began); took > 3900*time.Millisecond {
		t.Errorf("they waited for %v behind a slow view", took)
	}
	c.want("slept")
}

// TestBackpressure: a client that says more than its view takes is slowed down, and
// nothing that it has said is lost.
func TestBackpressure(t *testing.T) {
	s := startWith(t, pyserver.Config{Workers: 1, Threads: 2})
	c := s.open("/ws")
	c.send(tell(map[string]any{"sleep": 1.5, "body": "slept"}))
	text, sent := strings.Repeat("y", 64<<10), 0
	_ = c.SetWriteDeadline(time.Now().Add(700 * time.Millisecond))
	frame := ws.AppendMasked(nil, ws.OpText, true, [4]byte{}, []byte(text))
	for sent < 2000 {
		n, err := c.Write(frame)
		if err != nil {
			frame = frame[n:]
			break
		}
		sent++
	}
	if sent > 400 {
		t.Fatalf("the server took %d messages of 64 KiB while the view slept", sent)
	}
	done := make(chan error, 1)
	go func() { done <- c.Raw(frame) }()
	c.want("slept")
	for range sent + 1 {
		c.want("echo " + text)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestSlowClient: a client that reads nothing is closed, and the others get all.
func TestSlowClient(t *testing.T) {
	s := start(t, 1)
	stalled, healthy := s.open(on("flood")), s.open(on("flood"))
	for round := range 30 {
		s.publish("flood", "%i ", "size=20000", "times=50")
		for i := range 50 {
			text, err := healthy.Text()
			if err != nil || !strings.HasPrefix(text, fmt.Sprint(i, " x")) {
				t.Fatalf("event %d of round %d is %.20q for the healthy client, %v", i, round, text, err)
			}
		}
	}
	code, reason, err := stalled.End()
	var closed *rawws.Closed
	switch {
	case err == nil && code == ws.CodeOverload && reason == "messages were missed":
	case err == nil && code == ws.CodeAbnormal:
	case errors.As(err, &closed) || err != nil && strings.Contains(err.Error(), "reset by peer"):
	default:
		t.Errorf("the stalled client ended with %v %q, %v; want 1013 or a cut", code, reason, err)
	}
}

// TestBusy: a message that finds the server full closes its socket with 1013.
func TestBusy(t *testing.T) {
	s := start(t, 1, "--limit-concurrency=1")
	c, slow := s.open("/ws"), s.open("/ws")
	slow.send(tell(map[string]any{"sleep": 1, "body": "slept"}))
	deadline := time.Now().Add(10 * time.Second)
	for {
		c.send("in vain")
		text, err := c.Text()
		var closed *rawws.Closed
		if errors.As(err, &closed) {
			if closed.Code != ws.CodeOverload {
				t.Errorf("closed with %v, want 1013", closed)
			}
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the busy server answered %q, %v", text, err)
		}
	}
	slow.want("slept")
}

// TestFigures: what sockets do is counted.
func TestFigures(t *testing.T) {
	port := smoketest.FreePort(t)
	s := start(t, 1, fmt.Sprint("--metrics=127.0.0.1:", port))
	c := s.open(on("a", "body=hello"))
	c.want("hello")
	c.send("x")
	c.want("echo x")
	s.refused(403, "/ws", "Origin: https://evil.example")
	bad := s.open("/ws")
	bad.sendAs(ws.OpText, "\xff")
	bad.wantEnd(ws.CodeInvalidData)
	wrong := s.open("/ws")
	wrong.send(tell(map[string]any{"f": []string{"M0-Close: soon"}}))
	wrong.wantEnd(ws.CodeInternal)
	smoketest.Until(t, "figures", func() bool {
		body := figures(t, port)
		if !strings.Contains(body, "m0_websockets{") {
			t.Fatal("there are no figures of WebSockets")
		}
		for _, want := range []string{
			`m0_websockets{worker="0"} 1`, `m0_websockets_opened_total{worker="0"} 3`,
			`m0_websockets_refused_total{worker="0"} 1`, `m0_websocket_requests_total{worker="0"} 2`,
			`m0_websocket_messages_total{worker="0",direction="out"} 2`,
			`m0_websockets_failed_total{worker="0",cause="answer"} 1`,
			`m0_websockets_failed_total{worker="0",cause="violation"} 1`,
		} {
			if !strings.Contains(body, want+"\n") {
				return false
			}
		}
		return true
	})
}

// figures reads the metrics.
func figures(t *testing.T, port int) string {
	t.Helper()
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestThousand: a thousand sockets on one thread, all of them talk and all of them
// hear.
func TestThousand(t *testing.T) {
	const many = 1000
	s := start(t, 1)
	first := s.open("/ws")
	first.send("pid")
	pid, err := first.Text()
	if err != nil {
		t.Fatal(err)
	}
	pid = strings.TrimPrefix(pid, "echo ")
	before := resident(t, pid)
	all, began := make([]*socket, many), time.Now()
	for i := range all {
		all[i] = s.open(on("all"))
	}
	opened := time.Since(began)
	began = time.Now()
	for i, c := range all {
		c.send(fmt.Sprint(i))
	}
	for i, c := range all {
		c.want(fmt.Sprint("echo ", i))
	}
	answered := time.Since(began)
	began = time.Now()
	s.publish("all", "to everybody")
	var wg sync.WaitGroup
	errs := make(chan error, many)
	for _, c := range all {
		wg.Go(func() {
			if text, err := c.Text(); err != nil || text != "to everybody" {
				errs <- fmt.Errorf("a client heard %q, %v", text, err)
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		t.Error(err)
	default:
	}
	t.Logf("%d sockets: opened in %v, each answered in %v, an event for all in %v; %d KiB for each",
		many, opened, answered, time.Since(began), (resident(t, pid)-before)/many)
}

// resident is the memory of a process in KiB.
func resident(t *testing.T, pid string) (kib int) {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib
}

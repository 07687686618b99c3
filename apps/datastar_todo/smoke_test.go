// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/sqlite"
)

var bin string

func TestMain(m *testing.M) { smoketest.Main(m, &bin, main) }

// start runs the application over a database of its own.
func start(t *testing.T, db string, env ...string) *smoketest.Process {
	t.Helper()
	return smoketest.Start(t, bin, append([]string{"M0_DB=" + db}, env...)...)
}

func newDB(t *testing.T) string { return filepath.Join(t.TempDir(), "todo.db") }

// send makes one request on a connection of its own, so that it may land on any
// worker, and returns status and body.
func send(t *testing.T, method, url string, signals any) (int, string, http.Header) {
	t.Helper()
	body, err := json.Marshal(signals)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Datastar-Request", "true")
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return resp.StatusCode, string(text), resp.Header
}

func post(t *testing.T, p *smoketest.Process, text string) {
	t.Helper()
	status, body, _ := send(t, "POST", p.URL+"/todos", map[string]string{"draft": text})
	if status != http.StatusOK || !strings.Contains(body, `"draft":""`) {
		t.Fatalf("POST /todos %q = %d %q; want 200 and an empty draft", text, status, body)
	}
}

func open(t *testing.T, p *smoketest.Process, lastID string) *smoketest.Stream {
	t.Helper()
	s := smoketest.Open(t, p.URL+"/todos/stream", lastID)
	if s.Status != http.StatusOK {
		t.Fatalf("GET /todos/stream = %d; want 200", s.Status)
	}
	hello := s.Next(t)
	if hello.Name != "datastar-patch-signals" || !strings.Contains(hello.Data, `"live":true`) {
		t.Fatalf("first event of a stream = %+v; want the signals that say it is live", hello)
	}
	return s
}

// listWith waits for a frame of the list that shows text, and for the block
// with its id behind it.
func listWith(t *testing.T, s *smoketest.Stream, text string) (id string) {
	t.Helper()
	s.Until(t, "a list with "+text, func(e smoketest.Event) bool {
		return e.Name == "datastar-patch-elements" && strings.Contains(e.Data, text)
	})
	block := s.Next(t)
	if block.ID == "" || block.Data != "" {
		t.Fatalf("after a frame came %+v; want a block with its id alone", block)
	}
	return block.ID
}

func TestSmokeOneAddReachesAnOpenTab(t *testing.T) {
	p := start(t, newDB(t))
	s := open(t, p, "")
	post(t, p, "buy milk")
	if id := listWith(t, s, "buy milk"); len(id) < 15 {
		t.Errorf("id = %q; want microseconds since 1970 or more", id)
	}
	status, page, header := send(t, "GET", p.URL+"/", nil)
	if status != 200 || !strings.Contains(page, "buy milk") ||
		!strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("GET / = %d, policy %q; want 200 with the todo and a policy", status,
			header.Get("Content-Security-Policy"))
	}
}

func TestSmokeEveryAction(t *testing.T) {
	p := start(t, newDB(t))
	s := open(t, p, "")
	post(t, p, "first")
	listWith(t, s, "first")
	for _, c := range []struct{ method, path, shows string }{
		{"POST", "/todos/1/toggle", `aria-pressed="true"`},
		{"POST", "/todos/1/toggle", `aria-pressed="false"`},
		{"POST", "/todos/1/toggle", "0 items left"},
		{"DELETE", "/todos/done", "Nothing to do"},
	} {
		if status, body, _ := send(t, c.method, p.URL+c.path, nil); status != 204 {
			t.Fatalf("%s %s = %d %s; want 204", c.method, c.path, status, body)
		}
		listWith(t, s, c.shows)
	}
	post(t, p, "second")
	listWith(t, s, "second")
	if status, _, _ := send(t, "DELETE", p.URL+"/todos/2", nil); status != 204 {
		t.Fatalf("DELETE /todos/2 = %d; want 204", status)
	}
	listWith(t, s, "Nothing to do")
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"POST", "/todos/99/toggle", 404}, {"DELETE", "/todos/99", 404},
		{"DELETE", "/todos/x", 404}, {"PUT", "/todos", 405}, {"GET", "/none", 404},
	} {
		status, body, header := send(t, c.method, p.URL+c.path, nil)
		if status != c.status || header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s = %d %s %s; want %d as a problem document", c.method, c.path, status,
				header.Get("Content-Type"), body, c.status)
		}
	}
	s.Silent(t, 100*time.Millisecond)
}

func TestSmokeBadInputGetsAClearAnswer(t *testing.T) {
	p := start(t, newDB(t))
	for _, draft := range []string{"", "   ", strings.Repeat("é", 501)} {
		status, body, _ := send(t, "POST", p.URL+"/todos", map[string]string{"draft": draft})
		var signals map[string]string
		if err := json.Unmarshal([]byte(body), &signals); err != nil || status != 200 ||
			signals["error"] == "" {
			t.Errorf("POST /todos %.20q = %d %s; want 200 with an error signal", draft, status, body)
		}
	}
	for _, c := range []struct {
		body   string
		status int
	}{{"{", 400}, {`{"draft":7}`, 400}, {strings.Repeat("x", 2<<20), 413}} {
		resp, err := http.Post(p.URL+"/todos", "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("POST /todos with %.12q = %d; want %d", c.body, resp.StatusCode, c.status)
		}
	}
}

func TestSmokeHostileTextStaysText(t *testing.T) {
	p := start(t, newDB(t))
	s := open(t, p, "")
	for _, text := range []string{
		`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`,
		"line\ndata: elements <b>x</b>\n\nevent: gone", "cr\rid: 7\r\rx",
		`" onmouseover="alert(1)`, `</section><h1>out`, "{{.}} ${alert(1)} @get('/x')",
	} {
		post(t, p, text+" end")
		e := s.Until(t, "a list", func(e smoketest.Event) bool {
			return strings.Contains(e.Data, " end")
		})
		for _, bad := range []string{"<script", "<img", "<b>", "<h1", `" onmouseover`} {
			if strings.Contains(e.Data, bad) {
				t.Errorf("todo %q reaches the page as %q", text, bad)
			}
		}
		for _, line := range strings.Split(e.Data, "\n") {
			if !strings.HasPrefix(line, "elements") {
				t.Errorf("todo %q puts the line %q into the stream", text, line)
			}
		}
		if block := s.Next(t); block.Number() < 1<<40 {
			t.Fatalf("todo %q: after the frame came %+v; want its id", text, block)
		}
		send(t, "POST", p.URL+"/todos/1/toggle", nil)
	}
}

func TestSmokeTwoWorkersShareOneList(t *testing.T) {
	p := start(t, newDB(t), "M0_WORKERS=2")
	streams := smoketest.Spread(t, 2, func() *smoketest.Stream { return open(t, p, "") })
	writers := make(map[string]bool)
	for i := 0; len(writers) < 2 && i < 64; i++ {
		text := fmt.Sprintf("todo %d.", i)
		_, _, header := send(t, "POST", p.URL+"/todos", map[string]string{"draft": text})
		writers[header.Get("X-Worker")] = true
		first := listWith(t, streams[0], text)
		for _, s := range streams[1:] {
			if id := listWith(t, s, text); id != first {
				t.Errorf("one frame has id %s on worker %s and %s on worker %s", first,
					streams[0].Worker, id, s.Worker)
			}
		}
	}
	if len(writers) < 2 {
		t.Fatalf("vacuous: all writes went to one worker: %v", writers)
	}
}

func TestSmokeRestartReplaysWhatWasMissed(t *testing.T) {
	db := newDB(t)
	p := start(t, db, "M0_WORKERS=2")
	s := open(t, p, "")
	post(t, p, "seen.")
	seen := listWith(t, s, "seen.")
	post(t, p, "missed.")
	missed := listWith(t, s, "missed.")
	p.Kill(t)

	p = start(t, db, "M0_WORKERS=2")
	behind := open(t, p, seen)
	if id := listWith(t, behind, "missed."); id != missed {
		t.Errorf("replayed frame has id %s; want %s", id, missed)
	}
	current, fresh := open(t, p, missed), open(t, p, "")
	for _, s := range []*smoketest.Stream{behind, current, fresh} {
		s.Silent(t, 100*time.Millisecond)
	}
	post(t, p, "after.")
	for _, s := range []*smoketest.Stream{behind, current, fresh} {
		if id := listWith(t, s, "after."); id <= missed {
			t.Errorf("id after the restart = %s; want above %s", id, missed)
		}
	}
	unknown := open(t, p, "7")
	listWith(t, unknown, "after.") // an id older than the log gets the whole list
	ahead := open(t, p, "99999999999999999")
	ahead.Silent(t, 100*time.Millisecond)
	post(t, p, "live.")
	listWith(t, ahead, "live.")
}

func killWorker(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestSmokeKilledWorkerComesBackWithItsHistory(t *testing.T) {
	p := start(t, newDB(t), "M0_WORKERS=2")
	streams := smoketest.Spread(t, 2, func() *smoketest.Stream { return open(t, p, "") })
	post(t, p, "before.")
	last := ""
	for _, s := range streams {
		last = listWith(t, s, "before.")
	}
	old := p.Workers(t)
	killWorker(t, old[0])
	for _, s := range streams {
		if s.Worker == "0" && !s.Ended(t) {
			t.Errorf("a stream of the killed worker ended cleanly; want it cut")
		}
	}
	smoketest.Until(t, "worker 0 again", func() bool {
		pid := p.Workers(t)[0]
		return pid != 0 && pid != old[0]
	})
	post(t, p, "between.")
	for _, s := range streams {
		if s.Worker == "1" {
			listWith(t, s, "between.")
		}
	}
	p.AwaitAnswer(t, "/", 0)
	back := smoketest.Spread(t, 2, func() *smoketest.Stream { return open(t, p, last) })
	for _, s := range back {
		listWith(t, s, "between.")
	}
}

func TestSmokeEveryFrameHoldsItsPredecessorsTodos(t *testing.T) {
	db := newDB(t)
	p := start(t, db, "M0_WORKERS=2", "M0_TODO_RENDER_PAUSE_MS=5", "M0_JOURNAL=256")
	var wg sync.WaitGroup
	var mu sync.Mutex
	writers := make(map[string]int)
	for i := range 60 {
		wg.Go(func() {
			_, _, header := send(t, "POST", p.URL+"/todos",
				map[string]string{"draft": fmt.Sprintf("load-%02d.", i)})
			mu.Lock()
			defer mu.Unlock()
			writers[header.Get("X-Worker")]++
		})
	}
	wg.Wait()
	if len(writers) < 2 {
		t.Fatalf("vacuous: all writes went to one worker: %v", writers)
	}
	frames := loggedFrames(t, db)
	if len(frames) != 60 {
		t.Fatalf("%d frames logged; want 60", len(frames))
	}
	var before []string
	for n, frame := range frames {
		var now []string
		for i := range 60 {
			if text := fmt.Sprintf("load-%02d.", i); strings.Contains(frame, text) {
				now = append(now, text)
			}
		}
		if len(now) != n+1 {
			t.Errorf("frame %d holds %d todos; want %d", n, len(now), n+1)
		}
		for _, text := range before {
			if !strings.Contains(frame, text) {
				t.Errorf("frame %d lacks %s of its predecessor", n, text)
			}
		}
		before = now
	}
}

// loggedFrames reads the broadcast log straight from the database file.
func loggedFrames(t *testing.T, db string) []string {
	t.Helper()
	conn, err := sqlite.Open(db, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	frames, err := sqlite.All[[]byte](t.Context(), conn, `SELECT frame FROM events ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, f := range frames {
		texts = append(texts, string(f))
	}
	return texts
}

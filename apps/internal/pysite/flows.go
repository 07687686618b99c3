// SPDX-License-Identifier: MIT

//go:build unix

package pysite

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"m0serve.dev/apps/internal/rawhttp"
)

// A flow is a check of several requests.
type flow struct {
	name string
	run  func(t *testing.T, v *visit)
}

var flows = []flow{
	{"form", flowForm},
	{"form-hostile", flowHostile},
	{"form-wrong", flowWrong},
	{"session", flowSession},
	{"cookies-come-back", flowCookies},
	{"upload", flowUpload},
	{"upload-large", flowUploadLarge},
	{"stream-arrives-in-pieces", flowStream},
	{"one-connection", flowOneConnection},
	{"slow-views-overlap", flowOverlap},
	{"many-visitors", flowVisitors},
	{"database-of-the-thread", flowConnection},
	{"error-does-not-last", flowError},
	{"client-leaves", flowLeaves},
}

// workerFlows run on two workers over one database.
var workerFlows = []flow{
	{"two-workers", flowTwoWorkers},
	{"slow-views-overlap", flowOverlap},
	{"writers-of-both", flowVisitors},
}

var tokenInput = regexp.MustCompile(`name="csrfmiddlewaretoken" value="([^"]+)"`)

// add leaves a note by way of the form.
func (v *visit) add(t *testing.T, text string) answer {
	t.Helper()
	page := v.do(t, "GET", "/", "")
	m := tokenInput.FindStringSubmatch(page.body)
	if m == nil {
		t.Fatalf("the page holds no token: %.500q", page.body)
	}
	form := url.Values{"text": {text}, "csrfmiddlewaretoken": {m[1]}}
	return v.do(t, "POST", "/notes", form.Encode(), formType)
}

// notes are all that the site has.
func (v *visit) notes(t *testing.T) []string {
	t.Helper()
	var got struct{ Notes []string }
	a := v.do(t, "GET", "/notes.json", "")
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatalf("/notes.json: %v: %.300q", err, a.body)
	}
	return got.Notes
}

func (v *visit) has(t *testing.T, text string) bool {
	t.Helper()
	for _, note := range v.notes(t) {
		if note == text {
			return true
		}
	}
	return false
}

func flowForm(t *testing.T, v *visit) {
	text := "milk & bread, " + t.Name()
	if a := v.add(t, text); a.StatusCode != 302 || a.Header.Get("Location") != "/" {
		t.Fatalf("POST /notes = %s, Location %q, want 302 to /", a.Status, a.Header.Get("Location"))
	}
	if !v.has(t, text) {
		t.Errorf("the note is not in %q", v.notes(t))
	}
	if page := v.do(t, "GET", "/", ""); !strings.Contains(page.body, "<li>milk &amp; bread") {
		t.Errorf("the note is not on the page: %.500q", page.body)
	}
}

func flowHostile(t *testing.T, v *visit) {
	text := "<script>alert('ü €')</script>"
	if a := v.add(t, text); a.StatusCode != 302 {
		t.Fatalf("POST /notes = %s", a.Status)
	}
	if !v.has(t, text) {
		t.Errorf("the note came back changed: %q", v.notes(t))
	}
	if page := v.do(t, "GET", "/", ""); strings.Contains(page.body, "<script>") {
		t.Errorf("the page holds the text as it is: %.500q", page.body)
	}
}

func flowWrong(t *testing.T, v *visit) {
	for _, text := range []string{"", strings.Repeat("x", 201)} {
		if a := v.add(t, text); a.StatusCode != 400 {
			t.Errorf("a note of %d characters: %s, want 400", len(text), a.Status)
		}
	}
	a := v.do(t, "POST", "/notes", "text=x&csrfmiddlewaretoken=wrong", formType)
	if a.StatusCode != 403 {
		t.Errorf("a wrong token: %s, want 403", a.Status)
	}
}

func flowSession(t *testing.T, v *visit) {
	for want := 1; want <= 3; want++ {
		if a := v.do(t, "GET", "/count", ""); a.body != fmt.Sprint(want) {
			t.Errorf("visit %d counts %q", want, a.body)
		}
	}
	if a := newVisit(t, v.p).do(t, "GET", "/count", ""); a.body != "1" {
		t.Errorf("the first visit of another counts %q", a.body)
	}
}

func flowCookies(t *testing.T, v *visit) {
	for _, want := range []string{"new", "before", "before"} {
		if a := v.do(t, "GET", "/cookies", ""); a.body != want {
			t.Errorf("cookie seen: %q, want %q", a.body, want)
		}
	}
}

// sendFile uploads content in a form of parts.
func (v *visit) sendFile(t *testing.T, name, content string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(part, content)
	_ = form.WriteField("note", "ü")
	_ = form.Close()
	a := v.do(t, "POST", "/upload", body.String(), "Content-Type: "+form.FormDataContentType())
	var got struct {
		Name, SHA256, Note string
		Size               int
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.StatusCode != 200 {
		t.Fatalf("POST /upload = %s, %v: %.300q", a.Status, err, a.body)
	}
	want := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	if got.Name != name || got.Size != len(content) || got.SHA256 != want || got.Note != "ü" {
		t.Errorf("POST /upload = %+v, want %d bytes of %s", got, len(content), want)
	}
}

func flowUpload(t *testing.T, v *visit) {
	v.sendFile(t, "größe.txt", "a few bytes\r\n--not the boundary\r\n")
	v.sendFile(t, "empty.txt", "x")
}

func flowUploadLarge(t *testing.T, v *visit) {
	v.sendFile(t, "large.bin", strings.Repeat("0123456789abcde\n", 8<<16)) // 8 MiB
}

// chunked sends bodies of unknown length. They arrive, or are dropped whole when
// the framework does not ask for them.
func (s Site) chunked(t *testing.T, v *visit) {
	for _, size := range []int{0, 1, 100_000} {
		body := strings.Repeat("x", size)
		want := body
		if s.IgnoresChunks {
			want = ""
		}
		a := v.send(t, "POST", "/echo", io.MultiReader(strings.NewReader(body)))
		if a.StatusCode != 200 || a.body != want {
			t.Errorf("%d bytes in chunks came back as %s, %d bytes", size, a.Status, len(a.body))
		}
	}
}

// What the view yields arrives before it yields the rest, which takes 40 ms.
func flowStream(t *testing.T, v *visit) {
	resp, err := v.client.Get(v.p.URL + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	if line, err := lines.ReadString('\n'); err != nil || line != "line 0\n" {
		t.Fatalf("first line %q, %v", line, err)
	}
	first := time.Now()
	if rest, err := io.ReadAll(lines); err != nil || !strings.HasSuffix(string(rest), "line 4\n") {
		t.Fatalf("the rest %q, %v", rest, err)
	}
	if took := time.Since(first); took < 20*time.Millisecond {
		t.Errorf("the rest came %v behind the first line: it had waited for it", took)
	}
}

// Requests of every kind share one connection.
func flowOneConnection(t *testing.T, v *visit) {
	c, err := rawhttp.Dial(v.p.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const host = " HTTP/1.1\r\nHost: site.test\r\n"
	for _, step := range []struct{ method, request, status string }{
		{"GET", "GET /hello" + host + "\r\n", "200 OK"},
		{"HEAD", "HEAD /hello" + host + "\r\n", "200 OK"},
		{"GET", "GET /stream" + host + "\r\n", "200 OK"},
		{"GET", "GET /empty" + host + "\r\n", "204 No Content"},
		{"POST", "POST /echo" + host + "Content-Length: 3\r\n\r\nabc", "200 OK"},
		{"POST", "POST /hello" + host + "Content-Length: 3\r\n\r\nabc", "405 Method Not Allowed"},
		{"GET", "GET /missing" + host + "\r\n", "404 Not Found"},
		{"GET", "GET /download" + host + "\r\n", "200 OK"},
		{"GET", "GET /error" + host + "\r\n", "500 Internal Server Error"},
		{"GET", "GET /etag" + host + "If-None-Match: \"v1\"\r\n\r\n", "304 Not Modified"},
		{"GET", "GET /hello" + host + "\r\n", "200 OK"},
	} {
		c.Send(step.request)
		r, err := c.Read(step.method)
		if err != nil || !strings.EqualFold(r.Status, step.status) {
			t.Fatalf("%.20q = %+v, %v, want %s", step.request, r, err, step.status)
		}
	}
}

func flowOverlap(t *testing.T, v *visit) {
	begin := time.Now()
	var wg sync.WaitGroup
	for range 2 {
		other := newVisit(t, v.p)
		wg.Go(func() {
			if resp, err := other.client.Get(v.p.URL + "/slow?ms=400"); err == nil {
				_ = resp.Body.Close()
			}
		})
	}
	wg.Wait()
	if took := time.Since(begin); took < 400*time.Millisecond || took > 750*time.Millisecond {
		t.Errorf("two views of 400 ms took %v, want the time of one", took)
	}
}

// Visitors at the same time leave notes, and each note is there once.
func flowVisitors(t *testing.T, v *visit) {
	const visitors, each = 6, 5
	var wg sync.WaitGroup
	for i := range visitors {
		other := newVisit(t, v.p)
		wg.Go(func() {
			for j := range each {
				if a := other.add(t, fmt.Sprintf("%s %d %d", t.Name(), i, j)); a.StatusCode != 302 {
					t.Errorf("visitor %d, note %d: %s %.100q", i, j, a.Status, a.body)
				}
			}
		})
	}
	wg.Wait()
	count := map[string]int{}
	for _, note := range v.notes(t) {
		count[note]++
	}
	for i := range visitors {
		for j := range each {
			if n := count[fmt.Sprintf("%s %d %d", t.Name(), i, j)]; n != 1 {
				t.Errorf("note %d of visitor %d is there %d times", j, i, n)
			}
		}
	}
}

// connection is what /connection says: who served, over which connection.
type connection struct {
	PID, Thread, Connection uint64
}

func (v *visit) connection(t *testing.T) (c connection) {
	t.Helper()
	a := v.do(t, "GET", "/connection", "")
	if err := json.Unmarshal([]byte(a.body), &c); err != nil {
		t.Fatalf("/connection: %v: %.300q", err, a.body)
	}
	return c
}

// A thread keeps its connection to the database between requests.
func flowConnection(t *testing.T, v *visit) {
	seen := map[[2]uint64]uint64{}
	for range 30 {
		c := v.connection(t)
		who := [2]uint64{c.PID, c.Thread}
		if last, again := seen[who]; again && last != c.Connection {
			t.Fatalf("thread %d of %d lost its connection to the database", c.Thread, c.PID)
		}
		seen[who] = c.Connection
	}
	if len(seen) == 30 {
		t.Error("30 requests on 30 threads: none was seen twice")
	}
}

func flowError(t *testing.T, v *visit) {
	for range 3 {
		if a := v.do(t, "GET", "/error", ""); a.StatusCode != 500 {
			t.Errorf("GET /error = %s", a.Status)
		}
		if a := v.do(t, "GET", "/hello", ""); a.body != "hello" {
			t.Errorf("GET /hello behind an error = %s %q", a.Status, a.body)
		}
	}
}

// Visitors who leave in the middle do no harm to others.
func flowLeaves(t *testing.T, v *visit) {
	for _, request := range []string{
		"GET /download HTTP/1.1\r\nHost: site.test\r\n\r\n",
		"GET /stream HTTP/1.1\r\nHost: site.test\r\n\r\n",
		"GET /slow?ms=50 HTTP/1.1\r\nHost: site.test\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: site.test\r\nContent-Length: 1000000\r\n\r\nabc",
	} {
		c, err := rawhttp.Dial(v.p.URL)
		if err != nil {
			t.Fatal(err)
		}
		c.Send(request)
		if err := c.Reset(); err != nil {
			t.Fatal(err)
		}
		if a := v.do(t, "GET", "/hello", ""); a.body != "hello" {
			t.Errorf("behind %.20q: %s %q", request, a.Status, a.body)
		}
	}
}

// Two workers serve, and a note left on one is seen by the other.
func flowTwoWorkers(t *testing.T, v *visit) {
	v.add(t, "seen by both")
	pids := map[uint64]bool{}
	deadline := time.Now().Add(rawhttp.Patience)
	for len(pids) < 2 && time.Now().Before(deadline) {
		other := newVisit(t, v.p)
		pids[other.connection(t).PID] = true
		if !other.has(t, "seen by both") {
			t.Fatal("a worker does not see the note")
		}
	}
	if len(pids) != 2 {
		t.Errorf("%d workers served, want 2", len(pids))
	}
}

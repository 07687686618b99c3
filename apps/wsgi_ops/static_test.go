// SPDX-License-Identifier: MIT

//go:build linux

package wsgiops

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

// withFiles starts the application beside files.
func withFiles(t *testing.T, route string) *smoketest.Process {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "page.css"), "body { color: black }")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, "body { color: black }")
	_ = z.Close()
	write(t, filepath.Join(dir, "page.css.gz"), packed.String())
	write(t, filepath.Join(dir, "index.html"), "<p>front")
	write(t, filepath.Join(dir, "digits.txt"), "0123456789")
	return site{args: []string{"--static", route + "=" + dir}}.start(t)
}

func TestStaticFiles(t *testing.T) {
	t.Parallel()
	p := withFiles(t, "/s")
	r := exchange(t, p, get("/s/digits.txt"))
	tag := r.Get("ETag")
	if string(r.Body) != "0123456789" || tag == "" ||
		!strings.HasPrefix(r.Get("Content-Type"), "text/plain") {
		t.Errorf("GET /s/digits.txt = %s %q %q", r.Status, r.Fields, r.Body)
	}
	for _, tt := range []struct{ field, status, body, check string }{
		{"Range: bytes=2-5", "206", "2345", "Content-Range: bytes 2-5/10"},
		{"Range: bytes=-3", "206", "789", "Content-Range: bytes 7-9/10"},
		{"Range: bytes=20-", "416", "", "Content-Range: bytes */10"},
		{"If-None-Match: " + tag, "304", "", "ETag: " + tag},
		{`If-None-Match: "another"`, "200", "0123456789", "ETag: " + tag},
		{"If-Range: \"another\"\r\nRange: bytes=2-5", "200", "0123456789", "ETag: " + tag},
	} {
		r := exchange(t, p, get("/s/digits.txt", tt.field))
		name, value, _ := strings.Cut(tt.check, ": ")
		if !strings.HasPrefix(r.Status, tt.status) || r.Get(name) != value ||
			tt.body != "" && string(r.Body) != tt.body {
			t.Errorf("%s: %s %q %q; want %s, %s, %q",
				tt.field, r.Status, r.Fields, r.Body, tt.status, tt.check, tt.body)
		}
	}
	r = exchange(t, p, get("/s/page.css", "Accept-Encoding: gzip"))
	z, err := gzip.NewReader(bytes.NewReader(r.Body))
	if err != nil || r.Get("Content-Encoding") != "gzip" || r.Get("Vary") != "Accept-Encoding" {
		t.Fatalf("page.css as gzip: %q, %v", r.Fields, err)
	}
	if text, err := io.ReadAll(z); string(text) != "body { color: black }" {
		t.Errorf("page.css as gzip holds %q, %v", text, err)
	}
	for path, want := range map[string]string{
		"/s/none.txt": "404", "/s/../ops.py": "404", "/s/%2e%2e/ops.py": "404",
	} {
		if r := exchange(t, p, get(path)); !strings.HasPrefix(r.Status, want) {
			t.Errorf("GET %s: %s %q, want %s", path, r.Status, r.Body, want)
		}
	}
	if got := ask(t, p, "/hello"); got != "hello" {
		t.Errorf("GET /hello = %q beside files", got)
	}
}

// Files at the root go first, and what is none is the application's. They are sent
// while every thread of the application is busy.
func TestStaticRoot(t *testing.T) {
	t.Parallel()
	p := withFiles(t, "/")
	for path, want := range map[string]string{
		"/": "<p>front", "/digits.txt": "0123456789", "/hello": "hello",
	} {
		if got := ask(t, p, path); got != want {
			t.Errorf("GET %s = %q, want %q", path, got, want)
		}
	}
}

func TestStaticWhileTheApplicationIsBusy(t *testing.T) {
	t.Parallel()
	p := withFiles(t, "/s")
	for _, view := range []string{"sleep", "spin", "hold"} {
		c := dial(t, p)
		c.Send(get("/" + view + "?s=1"))
		logs(t, p, "OPS "+view, 1)
		if got := ask(t, p, "/s/digits.txt"); got != "0123456789" {
			t.Errorf("GET /s/digits.txt = %q", got)
		}
		if err := c.Silent(time.Millisecond); err != nil {
			t.Errorf("%s: %v: nothing is shown", view, err)
		}
		if r, err := c.Read("GET"); err != nil || r.Status != "200 OK" {
			t.Errorf("%s: %+v, %v", view, r, err)
		}
	}
}

// sample is a line of a metric: its name, labels and value.
var sample = regexp.MustCompile(`^[a-z_][a-z0-9_]*(\{[a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*\})? ` +
	`(-?[0-9.]+(e[+-]?[0-9]+)?|\+Inf|NaN)$`)

// --metrics shows every worker in a text that collectors read, also while one is stuck.
func TestMetrics(t *testing.T) {
	t.Parallel()
	address := "127.0.0.1:" + strconv.Itoa(smoketest.FreePort(t))
	p := site{args: []string{"--workers", "2", "--metrics", address}}.start(t)
	for _, pid := range p.Workers(t) {
		answeredBy(t, p, pid)
	}
	c := dial(t, p)
	c.Send(get("/hold?s=1"))
	logs(t, p, "OPS holds", 1)
	text, kind := scrape(t, address, "application/openmetrics-text; version=1.0.0")
	if !strings.HasPrefix(kind, "application/openmetrics-text") ||
		!strings.HasSuffix(text, "# EOF\n") {
		t.Errorf("type %q, and the end %q", kind, text[max(0, len(text)-20):])
	}
	for _, want := range []string{`worker="0"`, `worker="1"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics have no %s:\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "# ") &&
			!sample.MatchString(line) {
			t.Errorf("no line of a metric: %q", line)
		}
	}
	if text, kind := scrape(t, address, ""); !strings.HasPrefix(kind, "text/plain") ||
		strings.Contains(text, "# EOF") {
		t.Errorf("without a wish: type %q", kind)
	}
}

// A worker that does not answer is shown as silent, and hides nothing of the others.
func TestMetricsOfAStoppedWorker(t *testing.T) {
	t.Parallel()
	address := "127.0.0.1:" + strconv.Itoa(smoketest.FreePort(t))
	p := site{args: []string{"--workers", "2", "--metrics", address}}.start(t)
	pid := p.Workers(t)[1]
	answeredBy(t, p, pid)
	smoketest.Stop(t, pid)
	text, _ := scrape(t, address, "")
	for _, want := range []string{
		`m0_worker_up{worker="0"} 1`, `m0_worker_up{worker="1"} 0`, `m0_connections{worker="0"} `,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("worker 1 is stopped, and the metrics have no %s:\n%s", want, text)
		}
	}
}

func scrape(t *testing.T, address, accept string) (text, kind string) {
	t.Helper()
	req, err := http.NewRequest("GET", "http://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	r, err := (&http.Client{Timeout: smoketest.Patience}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != 200 {
		t.Fatalf("GET /metrics: %s, %v", r.Status, err)
	}
	return string(body), r.Header.Get("Content-Type")
}

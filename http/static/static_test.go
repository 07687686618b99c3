// SPDX-License-Identifier: MIT

package static

import (
	"io"
	"mime"
	"mime/multipart"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/server"
)

// written is the time of every file of a tree; far from now, so that
// validators are strong.
var written = time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)

const writtenText = "Fri, 02 Jan 2026 03:04:05 GMT"

// tree makes a directory of files, name by content.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, filepath.Join(dir, name), text, written)
	}
	return dir
}

func put(t testing.TB, file, text string, at time.Time) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

// serve opens cfg until the test ends.
func serve(t testing.TB, cfg Config) *Files {
	t.Helper()
	f, err := Open(cfg)
	if err != nil {
		t.Fatalf("Open(%+v): %v", cfg, err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return f
}

// native serves f on a loop; what it does not handle is 299.
func native(t testing.TB, f *Files) string {
	t.Helper()
	_, addr := both.Start(t, server.Config{Handler: loop.HandlerFunc(func(x *loop.Exchange) {
		if !f.Serve(x) {
			x.SetStatus(299)
		}
	})})
	return "http://" + addr
}

// onBoth runs test against f on a loop and on net/http.
func onBoth(t *testing.T, f *Files, test func(t *testing.T, url string, isNative bool)) {
	t.Run("native", func(t *testing.T) { test(t, native(t, f), true) })
	t.Run("net/http", func(t *testing.T) {
		test(t, "http://"+both.Std(t, f), false)
	})
}

func TestFileWithItsFields(t *testing.T) {
	dir := tree(t, map[string]string{"css/a b.css": "body{}"})
	f := serve(t, Config{Route: "/static", Dir: dir, CacheControl: "max-age=60"})
	onBoth(t, f, func(t *testing.T, url string, _ bool) {
		for _, method := range []string{"GET", "HEAD"} {
			res, body := both.Ask(t, method, url+"/static/css/a%20b.css?v=1")
			if res.StatusCode != 200 || method == "GET" && body != "body{}" {
				t.Errorf("%s = %d %q", method, res.StatusCode, body)
			}
			for name, want := range map[string]string{
				"Content-Type":           "text/css; charset=utf-8",
				"Content-Length":         "6",
				"Content-Encoding":       "",
				"X-Content-Type-Options": "nosniff",
				"Accept-Ranges":          "bytes",
				"Last-Modified":          writtenText,
				"Vary":                   "Accept-Encoding",
				"Cache-Control":          "max-age=60",
			} {
				if got := res.Header.Get(name); got != want {
					t.Errorf("%s: %s = %q; want %q", method, name, got, want)
				}
			}
			if tag := res.Header.Get("ETag"); len(tag) < 8 || tag[0] != '"' {
				t.Errorf("%s: ETag = %q; want a strong one", method, tag)
			}
		}
	})
}

func TestWhatIsNoFileHere(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.txt": "a", "sub/b.txt": "b", ".env": "secret", "sub/.git/x": "x",
	})
	outside := filepath.Join(t.TempDir(), "secret.txt")
	put(t, outside, "secret", written)
	for name, to := range map[string]string{
		"out.txt": outside, "up": filepath.Dir(outside), "in.txt": "a.txt",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	f := serve(t, Config{Route: "/static/", Dir: dir})
	onBoth(t, f, func(t *testing.T, url string, isNative bool) {
		other := map[bool]int{true: 299, false: 404}[isNative]
		for path, want := range map[string]int{
			"/static/a.txt":                       200,
			"/static/%61.txt":                     200,
			"/static/in.txt":                      200, // a link that stays inside
			"/static/sub/b.txt":                   200,
			"/static/none.txt":                    404,
			"/static/":                            404,
			"/static/sub":                         404,
			"/static/sub/":                        404,
			"/static/a.txt/":                      404,
			"/static/a.txt/b":                     404,
			"/static/.env":                        404,
			"/static/%2eenv":                      404,
			"/static/sub/.git/x":                  404,
			"/static/../static/a.txt":             404,
			"/static/sub/../a.txt":                404,
			"/static/%2e%2e/static/a.txt":         404,
			"/static/sub/%2E%2E/a.txt":            404,
			"/static/sub%2fb.txt":                 404,
			"/static/sub%5cb.txt":                 404,
			"/static/%252e%252e/a.txt":            404,
			"/static//a.txt":                      404,
			"/static/a.txt%00":                    404,
			"/static/a.txt%0a":                    404,
			"/static/out.txt":                     404,
			"/static/up/secret.txt":               404,
			"/static/" + strings.Repeat("n", 300): 404,
			"/static":                             other,
			"/statics/a.txt":                      other,
			"/":                                   other,
		} {
			// The path goes out as it stands.
			host := strings.TrimPrefix(url, "http://")
			get := "GET " + path + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
			if got := rawStatus(t, host, get); got != want {
				t.Errorf("GET %s = %d; want %d", path, got, want)
			}
		}
	})
}

// rawStatus sends a request as it stands and returns the status.
func rawStatus(t testing.TB, host, request string) int {
	t.Helper()
	c, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(c)
	if err != nil || len(text) < 12 {
		t.Fatalf("%.60q: answer %.60q, %v", request, text, err)
	}
	return int(text[9]-'0')*100 + int(text[10]-'0')*10 + int(text[11]-'0')
}

func TestOpenRefuses(t *testing.T) {
	dir := tree(t, map[string]string{"file": "x"})
	for _, cfg := range []Config{
		{Dir: filepath.Join(dir, "none")},
		{Dir: filepath.Join(dir, "file")},
		{Dir: dir, Route: "static"},
		{Dir: dir, CacheControl: "a\nb"},
		{Dir: dir, Index: "../index.html"},
		{Dir: dir, Types: map[string]string{"txt": "text/plain"}},
		{Dir: dir, Types: map[string]string{".txt": "text/plain\r\nX: y"}},
	} {
		if f, err := Open(cfg); err == nil || f != nil || !strings.HasPrefix(err.Error(), "static: ") {
			t.Errorf("Open(%+v) = %v, %v; want an error", cfg, f, err)
		}
	}
	f := serve(t, Config{Dir: dir, Types: map[string]string{".wasm": "x/y"}})
	if a, b := f.typeOf("a.wasm"), f.typeOf("A.CSS"); a != "x/y" || b != builtinTypes[".css"] {
		t.Errorf("types are %q and %q; want the one given and the one built in", a, b)
	}
}

func TestMethods(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "a"})
	onBoth(t, serve(t, Config{Dir: dir}), func(t *testing.T, url string, _ bool) {
		for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
			res, body := both.Ask(t, method, url+"/a.txt")
			if res.StatusCode != 405 || res.Header.Get("Allow") != "GET, HEAD" ||
				res.Header.Get("Content-Type") != "application/problem+json" ||
				body != `{"title":"Method Not Allowed","status":405}`+"\n" {
				t.Errorf("%s = %d %q %v", method, res.StatusCode, body, res.Header)
			}
		}
	})
	f := serve(t, Config{Dir: dir, Fallthrough: true})
	for _, c := range []struct {
		method, path string
		want         int
	}{{"GET", "/a.txt", 200}, {"POST", "/a.txt", 299}, {"GET", "/b.txt", 299}, {"GET", "/../a", 299}} {
		url := native(t, f)
		if got := rawStatus(t, url[len("http://"):], c.method+" "+c.path+
			" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); got != c.want {
			t.Errorf("Fallthrough: %s %s = %d; want %d", c.method, c.path, got, c.want)
		}
	}
}

func TestIndex(t *testing.T) {
	dir := tree(t, map[string]string{"index.html": "top", "a/index.html": "of a", "b/c.txt": "c"})
	f := serve(t, Config{Route: "/s", Dir: dir, Index: "index.html"})
	onBoth(t, f, func(t *testing.T, url string, _ bool) {
		for _, c := range []struct {
			path     string
			status   int
			location string
			body     string
		}{
			{"/s/", 200, "", "top"},
			{"/s/a/", 200, "", "of a"},
			{"/s/a/index.html", 200, "", "of a"},
			{"/s", 301, "/s/", ""},
			{"/s/a", 301, "/s/a/", ""},
			{"/s/%61?x=1&y=%20", 301, "/s/%61/?x=1&y=%20", ""},
			{"/s/b/", 404, "", ""},
			{"/s/b/c.txt/", 404, "", ""},
		} {
			res, body := both.Ask(t, "GET", url+c.path)
			if res.StatusCode != c.status || res.Header.Get("Location") != c.location ||
				c.body != "" && body != c.body {
				t.Errorf("GET %s = %d %q, Location %q; want %d %q, %q", c.path,
					res.StatusCode, body, res.Header.Get("Location"), c.status, c.body, c.location)
			}
		}
	})
}

func TestRanges(t *testing.T) {
	dir := tree(t, map[string]string{"d.txt": "0123456789", "empty.txt": ""})
	f := serve(t, Config{Dir: dir})
	onBoth(t, f, func(t *testing.T, url string, _ bool) {
		for _, c := range []struct {
			ranges       string
			status       int
			body         string
			contentRange string
		}{
			{"bytes=0-0", 206, "0", "bytes 0-0/10"},
			{"bytes=2-", 206, "23456789", "bytes 2-9/10"},
			{"Bytes = 2-4", 200, "0123456789", ""},
			{"BYTES=2-4", 206, "234", "bytes 2-4/10"},
			{"bytes=-3", 206, "789", "bytes 7-9/10"},
			{"bytes=-99", 206, "0123456789", "bytes 0-9/10"},
			{"bytes=8-99999999999999999999999", 206, "89", "bytes 8-9/10"},
			{"bytes=10-", 416, "", "bytes */10"},
			{"bytes=-0", 416, "", "bytes */10"},
			{"bytes=20-30, 40-", 416, "", "bytes */10"},
			{"bytes=5-6, 99-", 206, "56", "bytes 5-6/10"},
			{"bytes=4-2", 200, "0123456789", ""},
			{"bytes=", 200, "0123456789", ""},
			{"bytes=a-b", 200, "0123456789", ""},
			{"bytes=1", 200, "0123456789", ""},
			{"lines=1-2", 200, "0123456789", ""},
			{"bytes=0-9,0-9", 200, "0123456789", ""},
			{"bytes=" + strings.Repeat("0-0,", 17), 200, "0123456789", ""},
		} {
			res, body := both.Ask(t, "GET", url+"/d.txt", "Range: "+c.ranges)
			if res.StatusCode != c.status || c.status != 416 && body != c.body ||
				res.Header.Get("Content-Range") != c.contentRange {
				t.Errorf("Range %q = %d %q, Content-Range %q; want %d %q, %q", c.ranges, res.StatusCode,
					body, res.Header.Get("Content-Range"), c.status, c.body, c.contentRange)
			}
		}
		if res, _ := both.Ask(t, "HEAD", url+"/d.txt", "Range: bytes=1-2"); res.StatusCode != 200 ||
			res.ContentLength != 10 {
			t.Errorf("HEAD with Range = %d, length %d; want 200, 10", res.StatusCode, res.ContentLength)
		}
		if res, _ := both.Ask(t, "GET", url+"/empty.txt", "Range: bytes=0-5"); res.StatusCode != 200 {
			t.Errorf("Range of an empty file = %d; want 200", res.StatusCode)
		}
	})
}

func TestSeveralRanges(t *testing.T) {
	dir := tree(t, map[string]string{"d.txt": "0123456789"})
	onBoth(t, serve(t, Config{Dir: dir}), func(t *testing.T, url string, _ bool) {
		res, body := both.Ask(t, "GET", url+"/d.txt", "Range: bytes=0-1, 99-,  -2 ,4-5")
		kind, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
		if err != nil || res.StatusCode != 206 || kind != "multipart/byteranges" ||
			res.Header.Get("Content-Range") != "" || res.ContentLength != int64(len(body)) {
			t.Fatalf("several ranges = %d %v, %d bytes, %v", res.StatusCode, res.Header, len(body), err)
		}
		r := multipart.NewReader(strings.NewReader(body), params["boundary"])
		for _, want := range []string{"bytes 0-1/10 01", "bytes 8-9/10 89", "bytes 4-5/10 45"} {
			part, err := r.NextPart()
			if err != nil {
				t.Fatalf("part %q: %v in %q", want, err, body)
			}
			text, err := io.ReadAll(part)
			got := part.Header.Get("Content-Range") + " " + string(text)
			if err != nil || got != want || part.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("part = %q %v, %v; want %q", got, part.Header, err, want)
			}
		}
		if _, err := r.NextPart(); err != io.EOF {
			t.Errorf("behind the last part: %v; want EOF", err)
		}
	})
}

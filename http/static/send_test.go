// SPDX-License-Identifier: MIT

package static

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/internal/both"
)

// pattern is text of which every part tells where it stands.
func pattern(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return string(b)
}

func TestLongFilesAreSentWhole(t *testing.T) {
	files := map[string]string{}
	for name, n := range map[string]int{
		"short": pieceBytes, "above": pieceBytes + 1, "long": 3*pieceBytes + 7, "mega": 5 << 20,
	} {
		files[name] = pattern(n)
	}
	f := serve(t, Config{Dir: tree(t, files)})
	onBoth(t, f, func(t *testing.T, url string, _ bool) {
		for name, want := range files {
			res, body := both.Ask(t, "GET", url+"/"+name)
			if body != want || res.ContentLength != int64(len(want)) {
				t.Errorf("GET %s: %d bytes, Content-Length %d; want %d, as they are",
					name, len(body), res.ContentLength, len(want))
			}
		}
		want := files["mega"]
		_, body := both.Ask(t, "GET", url+"/mega", "Range: bytes=1000-4999999")
		if body != want[1000:5000000] {
			t.Errorf("a long range: %d bytes that are not those asked for", len(body))
		}
		res, body := both.Ask(t, "GET", url+"/mega", "Range: bytes=0-999999,2000000-2999999")
		if !strings.Contains(body, want[2000000:3000000]) || res.ContentLength != int64(len(body)) {
			t.Errorf("long ranges: %d bytes, Content-Length %d", len(body), res.ContentLength)
		}
	})
}

// A connection lives on behind a long file.
func TestConnectionStaysBehindALongFile(t *testing.T) {
	text := pattern(1 << 20)
	url := native(t, serve(t, Config{Dir: tree(t, map[string]string{"a": text, "b": "b"})}))
	c, err := net.Dial("tcp", url[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	const get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n" +
		"GET /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	if _, err := io.WriteString(c, get); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(all, []byte("chunked")) || !bytes.Contains(all, []byte(text)) ||
		!bytes.HasSuffix(all, []byte("\r\n\r\nb")) {
		t.Errorf("two pipelined requests: %d bytes, end %q", len(all), all[max(len(all)-40, 0):])
	}
}

// A peer that takes nothing costs two pieces and not the file.
func TestSlowReadersCostNoMemory(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big")
	put(t, big, "", written)
	if err := os.Truncate(big, 1<<30); err != nil {
		t.Fatal(err)
	}
	url := native(t, serve(t, Config{Dir: dir}))
	const peers = 20
	for range peers {
		c, err := net.Dial("tcp", url[len("http://"):])
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.ReadFull(c, make([]byte, 100<<10)); err != nil { // it is on its way
			t.Fatal(err)
		}
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if limit := uint64(peers*1<<20 + 8<<20); m.HeapInuse > limit {
		t.Errorf("%d downloads of 1 GiB hold %d bytes of heap; want below %d", peers, m.HeapInuse, limit)
	}
}

// A file that becomes shorter while it is sent must not look whole.
func TestShrinkingFileIsBrokenOff(t *testing.T) {
	dir := tree(t, map[string]string{"big": pattern(64 << 20)})
	f := serve(t, Config{Dir: dir})
	onBoth(t, f, func(t *testing.T, url string, _ bool) {
		put(t, filepath.Join(dir, "big"), pattern(64<<20), written)
		res, err := both.Client().Get(url + "/big")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.ReadFull(res.Body, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, "big"), 0); err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, res.Body)
		if err == nil {
			t.Errorf("a file that shrank: %d bytes and a clean end; want an error", n)
		}
	})
}

func TestHTTPHandlerWorksBehindAMux(t *testing.T) {
	f := serve(t, Config{Route: "/s", Dir: tree(t, map[string]string{"a.txt": "a"})})
	mux := http.NewServeMux()
	mux.Handle("/pre/", http.StripPrefix("/pre", f))
	for path, want := range map[string]int{"/pre/s/a.txt": 200, "/pre/t/a.txt": 404} {
		rec := httptest.NewRecorder()
		mux.ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
		if rec.Code != want {
			t.Errorf("GET %s behind StripPrefix = %d; want %d", path, rec.Code, want)
		}
	}
}

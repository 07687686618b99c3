// SPDX-License-Identifier: MIT

package static

import (
	"path/filepath"
	"testing"
	"time"

	"m0serve.dev/http/internal/both"
)

func TestPrecompressedSiblings(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.js": "plain", "a.js.gz": "as gzip", "a.js.br": "as br",
		"old.js": "plain", "odd.js": "plain", "odd.js.gz/x": "a directory",
		"alone.js.gz": "without its file",
	})
	put(t, filepath.Join(dir, "old.js.gz"), "stale", written.Add(-staleAfter-time.Nanosecond))
	f := serve(t, Config{Dir: dir})
	onBoth(t, f, func(t *testing.T, url string, _ bool) {
		tags := map[string]bool{}
		for _, c := range []struct{ path, accept, coding, body string }{
			{"/a.js", "", "", "plain"},
			{"/a.js", "gzip", "gzip", "as gzip"},
			{"/a.js", "gzip, br, zstd", "br", "as br"},
			{"/a.js", "br;q=0.5, gzip, zstd", "gzip", "as gzip"},
			{"/a.js", "gzip;q=0.5, identity", "", "plain"},
			{"/a.js", "br;q=0, *", "gzip", "as gzip"},
			{"/a.js", "identity;q=0, zstd", "", "plain"},
			{"/old.js", "gzip", "", "plain"},
			{"/odd.js", "gzip", "", "plain"},
			{"/a.js.gz", "gzip", "", "as gzip"},
		} {
			res, body := both.Ask(t, "GET", url+c.path, "Accept-Encoding: "+c.accept)
			kind := "text/javascript; charset=utf-8"
			if c.path == "/a.js.gz" {
				kind = "application/gzip"
			}
			if body != c.body || res.Header.Get("Content-Encoding") != c.coding ||
				res.Header.Get("Vary") != "Accept-Encoding" || res.Header.Get("Content-Type") != kind {
				t.Errorf("GET %s for %q = %q %v; want %q, coding %q", c.path, c.accept, body, res.Header,
					c.body, c.coding)
			}
			if c.path == "/a.js" {
				tags[res.Header.Get("ETag")] = true
			}
		}
		if len(tags) != 3 {
			t.Errorf("the tags of three representations are %v", tags)
		}
		if res, _ := both.Ask(t, "GET", url+"/alone.js", "Accept-Encoding: gzip"); res.StatusCode != 404 {
			t.Errorf("a sibling without its file = %d; want 404", res.StatusCode)
		}
		res, body := both.Ask(t, "GET", url+"/a.js", "Accept-Encoding: gzip", "Range: bytes=0-1")
		if res.StatusCode != 206 || body != "as" || res.Header.Get("Content-Range") != "bytes 0-1/7" {
			t.Errorf("range of a coding = %d %q %v", res.StatusCode, body, res.Header)
		}
	})
	plain := serve(t, Config{Dir: dir, Plain: true})
	res, body := both.Ask(t, "GET", native(t, plain)+"/a.js", "Accept-Encoding: gzip")
	if body != "plain" || res.Header.Get("Vary") != "" {
		t.Errorf("Plain: %q %v; want the file itself without Vary", body, res.Header)
	}
}

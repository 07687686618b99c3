// SPDX-License-Identifier: MIT

package static

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"m0serve.dev/http/internal/both"
)

func TestPreconditions(t *testing.T) {
	dir := tree(t, map[string]string{"d.txt": "0123456789"})
	f := serve(t, Config{Dir: dir, CacheControl: "no-cache"})
	onBoth(t, f, func(t *testing.T, url string, _ bool) {
		res, _ := both.Ask(t, "GET", url+"/d.txt")
		tag := res.Header.Get("ETag")
		const before, after = "Thu, 01 Jan 2026 00:00:00 GMT", "Sat, 03 Jan 2026 00:00:00 GMT"
		for _, c := range []struct {
			fields []string
			want   int
		}{
			{[]string{"If-None-Match: " + tag}, 304},
			{[]string{"If-None-Match: W/" + tag}, 304},
			{[]string{"If-None-Match: *"}, 304},
			{[]string{`If-None-Match: "x", W/"y",` + tag}, 304},
			{[]string{`If-None-Match: "x"`, "If-None-Match: " + tag}, 304},
			{[]string{`If-None-Match: "x`, "If-None-Match: " + tag}, 200},
			{[]string{`If-None-Match: "x"`}, 200},
			{[]string{`If-None-Match: "x"`, "If-Modified-Since: " + after}, 200},
			{[]string{"If-Modified-Since: " + writtenText}, 304},
			{[]string{"If-Modified-Since: " + after}, 304},
			{[]string{"If-Modified-Since: Friday, 02-Jan-26 03:04:05 GMT"}, 304},
			{[]string{"If-Modified-Since: " + before}, 200},
			{[]string{"If-Modified-Since: yesterday"}, 200},
			{[]string{"If-Match: " + tag}, 200},
			{[]string{"If-Match: *"}, 200},
			{[]string{"If-Match: W/" + tag}, 412},
			{[]string{`If-Match: "x"`}, 412},
			{[]string{"If-Match: " + tag, "If-None-Match: " + tag}, 304},
			{[]string{"If-Unmodified-Since: " + writtenText}, 200},
			{[]string{"If-Unmodified-Since: " + before}, 412},
			{[]string{"If-Match: " + tag, "If-Unmodified-Since: " + before}, 200},
			{[]string{"Range: bytes=0-1", "If-Range: " + tag}, 206},
			{[]string{"Range: bytes=0-1", "If-Range: W/" + tag}, 200},
			{[]string{"Range: bytes=0-1", `If-Range: "x"`}, 200},
			{[]string{"Range: bytes=0-1", "If-Range: " + writtenText}, 206},
			{[]string{"Range: bytes=0-1", "If-Range: " + after}, 200},
			{[]string{"Range: bytes=0-1", "If-None-Match: " + tag}, 304},
		} {
			for _, method := range []string{"GET", "HEAD"} {
				want := c.want
				if method == "HEAD" && want == 206 {
					want = 200
				}
				res, body := both.Ask(t, method, url+"/d.txt", c.fields...)
				if res.StatusCode != want {
					t.Errorf("%s with %q = %d; want %d", method, c.fields, res.StatusCode, want)
				}
				if want == 304 && (body != "" || res.Header.Get("ETag") != tag ||
					res.Header.Get("Cache-Control") != "no-cache" || res.Header.Get("Content-Type") != "" ||
					res.Header.Get("Vary") != "Accept-Encoding") {
					t.Errorf("%s with %q: 304 has %q %v", method, c.fields, body, res.Header)
				}
			}
		}
	})
}

// A change within the same tick of the filesystem's clock may not be seen, so
// the validators of a young file do not claim to be strong.
func TestYoungFilesHaveWeakValidators(t *testing.T) {
	dir := tree(t, map[string]string{"d.txt": "0123456789"})
	at := func(now time.Time) string {
		f := serve(t, Config{Dir: dir})
		f.now = func() time.Time { return now }
		return native(t, f)
	}
	url := at(written.Add(settled - time.Nanosecond))
	res, _ := both.Ask(t, "GET", url+"/d.txt")
	tag := res.Header.Get("ETag")
	if len(tag) < 3 || tag[:3] != `W/"` {
		t.Errorf("ETag = %q; want a weak one", tag)
	}
	for fields, want := range map[[2]string]int{
		{"If-None-Match: " + tag}:                            304,
		{"If-None-Match: " + tag[2:]}:                        304,
		{"If-Match: " + tag}:                                 412,
		{"Range: bytes=0-1", "If-Range: " + writtenText}:     200,
		{"Range: bytes=0-1", "If-Range: " + tag}:             200,
		{"Range: bytes=0-1", "If-Range: " + tag[len("W/"):]}: 200,
	} {
		list := fields[:1]
		if fields[1] != "" {
			list = fields[:]
		}
		if res, _ := both.Ask(t, "GET", url+"/d.txt", list...); res.StatusCode != want {
			t.Errorf("young file with %q = %d; want %d", list, res.StatusCode, want)
		}
	}
	res, _ = both.Ask(t, "GET", at(written.Add(-time.Hour))+"/d.txt")
	if got := res.Header.Get("Last-Modified"); got != "Fri, 02 Jan 2026 02:04:05 GMT" {
		t.Errorf("Last-Modified of a file from the future = %q; want now", got)
	}
}

func TestTagChangesWithTheFile(t *testing.T) {
	dir := tree(t, map[string]string{"d.txt": "0123456789"})
	f := serve(t, Config{Dir: dir})
	file := filepath.Join(dir, "d.txt")
	tagOf := func() string {
		res, _ := both.Ask(t, "GET", native(t, f)+"/d.txt")
		return res.Header.Get("ETag")
	}
	first := tagOf()
	later := written.Add(time.Nanosecond)
	if err := os.Chtimes(file, later, later); err != nil {
		t.Fatal(err)
	}
	if second := tagOf(); second == first {
		t.Errorf("the tag %q stays with another time", first)
	}
	put(t, file, "012345678", written)
	if third := tagOf(); third == first {
		t.Errorf("the tag %q stays with another size", first)
	}
}

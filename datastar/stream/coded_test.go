// SPDX-License-Identifier: MIT

package stream_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"net/http"
	"testing"

	"m0serve.dev/datastar/stream"
	"m0serve.dev/http/sse"
)

// blocks is gzip of frames that refer to nothing before them, as compress.GzipFrames
// makes it, by the standard library.
type blocks struct{}

func (blocks) Name() string  { return "gzip" }
func (blocks) Begin() []byte { return []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255} }

func (blocks) Encode(dst, body []byte) []byte {
	out := bytes.NewBuffer(dst)
	w, _ := flate.NewWriter(out, flate.BestSpeed)
	_, _ = w.Write(body)
	_ = w.Flush()
	return out.Bytes()
}

// TestFramesAreCoded: a page that takes a coding gets the frames in it, a page that
// does not gets them plain.
func TestFramesAreCoded(t *testing.T) {
	onBoth(t, func(t *testing.T, serve func(http.Handler) string) {
		h := newHub(t, sse.HubConfig{})
		s := stream.New(h, stream.Options{Channel: "c", Codings: []sse.Coding{blocks{}}})
		addr := serve(s)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var pages []*page
		for _, accept := range []string{"gzip", "br"} {
			req, _ := http.NewRequestWithContext(ctx, "GET", "http://"+addr+"/", nil)
			req.Header.Set("Accept-Encoding", accept)
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			p := &page{t, bufio.NewReader(resp.Body)}
			if coding := resp.Header.Get("Content-Encoding"); (coding == "gzip") != (accept == "gzip") {
				t.Fatalf("Accept-Encoding %q: Content-Encoding %q", accept, coding)
			}
			if accept == "gzip" {
				z, err := gzip.NewReader(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				p.r = bufio.NewReader(z)
			}
			p.wants("opening", ":\n\n")
			pages = append(pages, p)
		}
		for _, text := range []string{"one", "two"} {
			id := patch(t, s, text)
			for _, p := range pages {
				p.wants(text, frame(text, id)...)
			}
		}
	})
}

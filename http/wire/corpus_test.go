// SPDX-License-Identifier: MIT

package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"m0serve.dev/http/internal/corpus"
)

// TestCorpusHTTP1 holds every case of corpus/http1 against the parser, with the
// strict choice where the case leaves one, whole and in pieces.
func TestCorpusHTTP1(t *testing.T) {
	var run, skipped int
	for _, c := range corpus.HTTP1(t) {
		if c.Needs != "" {
			skipped++
			continue
		}
		run++
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			in := c.Bytes()
			got := serve(in, nil, len(in))
			checkCase(t, &c, got)
			checkCuts(t, in, nil, got)
		})
	}
	t.Logf("%d cases, %d need more than a parser", run, skipped)
	if run < 280 {
		t.Errorf("ran %d cases, want at least 280", run)
	}
}

func checkCase(t *testing.T, c *corpus.Case, got outcome) {
	t.Helper()
	first := 0
	if len(got.status) > 0 {
		first = got.status[0]
	}
	switch {
	case c.Status[0] == 304 && first == 200:
		first = 304 // what the application answers is not the parser's
	case first == 408 && slices.Contains(c.Status, 0):
		first = 0 // a deadline or the end of the connection
	}
	if !slices.Contains(c.Status, first) {
		t.Errorf("first status %d, want one of %v; %v", first, c.Status, got)
	}
	if !slices.Contains(c.Handled, len(got.requests)) {
		t.Errorf("%d requests reached the application, want one of %v", len(got.requests), c.Handled)
	}
	if c.Seq != nil && len(c.Seq) != len(got.status) {
		t.Errorf("answers %v, want %v", got.status, c.Seq)
	}
	switch c.Prefer {
	case "reject":
		if len(got.requests) > 0 || first < 400 && first != 0 {
			t.Errorf("accepted, the strict choice is to refuse")
		}
	case "accept":
		if len(got.requests) == 0 {
			t.Errorf("refused, want accepted: %v", got)
		}
	}
}

// checkCuts feeds in one byte at a time and cut in two at every byte (a sample
// of them where it is long): the outcome has to be the same.
func checkCuts(t *testing.T, in []byte, lim *Limits, want outcome) {
	t.Helper()
	if !sameOutcome(in, lim, want, func(in []byte) outcome { return serve(in, lim, 1) }) {
		t.Errorf("byte by byte: %v, whole: %v", serve(in, lim, 1), want)
	}
	stride := 1 + len(in)/9000
	if testing.Short() {
		stride = 1 + len(in)/1000
	}
	for cut := 1; cut < len(in) && cut < 200_000; cut += stride {
		inTwo := func(in []byte) outcome { return serve(in, lim, cut, len(in)) }
		if !sameOutcome(in, lim, want, inTwo) {
			t.Fatalf("cut at %d: %v, whole: %v", cut, inTwo(in), want)
		}
	}
}

// sameOutcome compares. A fault in a last line that is not whole may be told at
// once or when the line ends: there the line is ended before comparing.
func sameOutcome(in []byte, lim *Limits, whole outcome, cut func([]byte) outcome) bool {
	got := cut(in)
	if got.err == whole.err || got.err != ErrTruncated && whole.err != ErrTruncated {
		return got.equal(whole)
	}
	ended := append(in[:len(in):len(in)], "\r\n\r\n"...)
	return cut(ended).equal(serve(ended, lim, len(ended)))
}

// A gunicornCase is one entry of corpus/gunicorn/manifest.json.
type gunicornCase struct {
	Kind, Name, Wire string
	Cfg              map[string]any
	Expect           []struct {
		Method, Target string
		Headers        [][2]string
		Body           string `json:"body_b64"`
		Trailers       [][2]string
	}
}

// gunicornRefused are the requests that gunicorn serves and we refuse on purpose.
var gunicornRefused = map[string]Error{
	"005":                                    ErrTarget, // a fragment is no part of a target
	"027":                                    ErrTarget, // raw bytes above 0x7f
	"025":                                    ErrTransferEncoding,
	"029":                                    ErrTransferEncoding,
	"030":                                    ErrTransferEncoding,
	"rfc9112_smuggle_gzip_chunked_01":        ErrCoding,
	"rfc9112_smuggle_te_identity_chunked_01": ErrCoding,
	"rfc9112_target_absolute_userinfo_01":    ErrTarget, // RFC 9110 section 4.2.4
	"rfc9112_target_authority_connect_01":    ErrConnect,
	"rfc9112_target_authority_ipv6_01":       ErrConnect,
	"099":                                    ErrTruncated, // half of the body it announces
}

// gunicornLimits are cases about its smaller default limits.
var gunicornLimits = map[string]*Limits{
	"006": {LineBytes: 4094},
	"008": {LineBytes: 8188},
	"017": {LineBytes: 8188},
}

// TestCorpusGunicorn holds gunicorn's own parser tests against ours.
func TestCorpusGunicorn(t *testing.T) {
	dir := corpus.Dir(t, "gunicorn")
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []gunicornCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	var run, skipped int
	for _, c := range cases {
		if len(c.Cfg) > 0 {
			skipped++
			continue
		}
		run++
		t.Run(c.Kind+"/"+c.Name, func(t *testing.T) {
			t.Parallel()
			in, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(c.Wire)))
			if err != nil {
				t.Fatal(err)
			}
			checkGunicorn(t, &c, withHost(c.Name, in))
		})
	}
	t.Logf("%d cases, %d about settings of gunicorn", run, skipped)
	if run < 80 {
		t.Errorf("ran %d cases, want at least 80", run)
	}
}

// withHost gives requests the Host that HTTP/1.1 wants and gunicorn does not.
func withHost(name string, in []byte) []byte {
	const line = " HTTP/1.1\r\n"
	if bytes.Contains(bytes.ToLower(in), []byte("\nhost:")) || name == "020" {
		return in // 020: the line is inside a counted body
	}
	return bytes.ReplaceAll(in, []byte(line), []byte(line+"Host: a\r\n"))
}

func checkGunicorn(t *testing.T, c *gunicornCase, in []byte) {
	lim := (*Limits)(nil)
	if c.Kind == "invalid" {
		lim = gunicornLimits[c.Name]
	}
	got := serve(in, lim, len(in))
	checkCuts(t, in, lim, got)
	if c.Kind == "invalid" {
		if got.err == nil {
			t.Errorf("accepted, want refused: %v", got)
		}
		return
	}
	if code := gunicornRefused[c.Name]; code != ok {
		if got.err != code {
			t.Errorf("error %v, want %v", got.err, code)
		}
		return
	}
	if got.err != nil || len(got.requests) != len(c.Expect) {
		t.Fatalf("%d requests and error %v, want %d", len(got.requests), got.err, len(c.Expect))
	}
	for i, want := range c.Expect {
		r := got.requests[i]
		body, err := base64.StdEncoding.DecodeString(want.Body)
		if err != nil {
			t.Fatal(err)
		}
		if r.method != want.Method || r.target != want.Target || r.body != string(body) {
			t.Errorf("request %d: %+v, want %s %s with %q", i, r, want.Method, want.Target, body)
		}
		sameFields(t, "field", r.fields, want.Headers)
		sameFields(t, "trailer", r.trailers, want.Trailers)
	}
}

// sameFields compares fields with those of gunicorn, which spells names in upper case.
func sameFields(t *testing.T, what string, got, want [][2]string) {
	t.Helper()
	got = slices.DeleteFunc(slices.Clone(got), func(f [2]string) bool {
		return f[0] == "Host" && f[1] == "a"
	})
	if len(got) != len(want) {
		t.Errorf("%d %ss %q, want %d %q", len(got), what, got, len(want), want)
		return
	}
	for i := range want {
		if strings.ToUpper(got[i][0]) != want[i][0] || got[i][1] != latin1(want[i][1]) {
			t.Errorf("%s %d is %q, want %q", what, i, got[i], want[i])
		}
	}
}

// latin1 turns one character a byte into bytes.
func latin1(s string) string {
	var out []byte
	for _, r := range s {
		out = append(out, byte(r))
	}
	return string(out)
}

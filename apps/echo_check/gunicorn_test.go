// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
)

// refusedOnPurpose are the requests that gunicorn serves and we refuse; the
// reasons stand beside the parser's own run of this corpus (http/wire).
var refusedOnPurpose = map[string]int{
	"005": 400, "025": 400, "027": 400, "029": 400, "030": 400, "099": 400,
	"rfc9112_smuggle_gzip_chunked_01":        501,
	"rfc9112_smuggle_te_identity_chunked_01": 501,
	"rfc9112_target_absolute_userinfo_01":    400,
	"rfc9112_target_authority_connect_01":    501,
	"rfc9112_target_authority_ipv6_01":       501,
}

// servedOnPurpose are refused by gunicorn's smaller default limits alone.
var servedOnPurpose = map[string]bool{"006": true, "008": true, "017": true}

// TestCorpusGunicorn sends every request of gunicorn's parser tests that is not
// about its settings, and half-closes behind it.
func TestCorpusGunicorn(t *testing.T) {
	if testing.Short() {
		t.Skip("a smoke: real binary, real sockets")
	}
	var cases []*foreign
	skipped := 0
	for _, c := range gunicornCorpus(t) {
		if len(c.Cfg) == 0 {
			cases = append(cases, c)
		} else {
			skipped++
		}
	}
	t.Logf("%d cases, %d skipped (settings of gunicorn)", len(cases), skipped)
	if len(cases) < 80 {
		t.Errorf("%d cases, want at least 80", len(cases))
	}
	eachMode(t, func(t *testing.T, k *checker) {
		for _, pieces := range []string{"send", "bytes"} {
			found := runAll(len(cases), 16, func(i int) faults {
				return k.checkForeign(cases[i], pieces)
			})
			for i, c := range cases {
				report(t, strings.Join([]string{c.Kind, c.Name, pieces}, "/"), found[i])
			}
		}
	})
}

func (k *checker) checkForeign(c *foreign, pieces string) (f faults) {
	t, err := dial(k.url)
	if err != nil {
		f.add("dial: %v", err)
		return f
	}
	defer t.conn.Close()
	go t.send([]step{{do: pieces, data: c.bytes}, {do: "shutwr"}})
	var answers []*answer
	for {
		a, err := t.read(patience)
		if err != nil {
			if err != io.EOF {
				f.add("behind %d answers: %v", len(answers), err)
			}
			break
		}
		answers = append(answers, a)
	}
	handled, err := t.handled(k.client)
	if err != nil {
		f.add("count: %v", err)
	}
	last := 0
	if len(answers) > 0 {
		last = answers[len(answers)-1].status
	}
	want := refusedOnPurpose[c.Name]
	switch {
	case c.Kind == "invalid" && servedOnPurpose[c.Name]:
		if last != 200 {
			f.add("status %d, want it served", last)
		}
	case c.Kind == "invalid":
		if last != 0 && last < 400 || handled >= max(1, len(answers)) {
			f.add("status %d with %d handled, want it refused", last, handled)
		}
	case want != 0:
		if last != want && last != 0 || handled != 0 {
			f.add("status %d with %d handled, want %d", last, handled, want)
		}
	case c.Name == "rfc9112_target_asterisk_options_01" && handled == 0:
		if last != 200 {
			f.add("status %d, want the 200 that net/http gives by itself", last)
		}
	default:
		f.compareForeign(c, answers, handled)
	}
	return f
}

func (f *faults) compareForeign(c *foreign, answers []*answer, handled int) {
	if len(answers) != len(c.Expect) || handled != len(c.Expect) {
		f.add("%d answers, %d handled, want %d", len(answers), handled, len(c.Expect))
		return
	}
	for i, want := range c.Expect {
		a := answers[i]
		path, _ := url.PathUnescape(a.header.Get("X-Path")) // a URL spells some bytes anew
		wantPath, _ := url.PathUnescape(want.Path)
		got := fmt.Sprintf("%d %s %q", a.status, path, a.body)
		if got != fmt.Sprintf("200 %s %q", wantPath, want.Body) {
			f.add("answer %d: %s, want 200 %s %q", i, got, wantPath, want.Body)
		}
	}
}

// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A checker runs scenarios against one server and gathers what is wrong.
type checker struct {
	url    string
	client *http.Client // asks for the counts
}

// faults is what is wrong with one scenario.
type faults []string

func (f *faults) add(format string, args ...any) {
	*f = append(*f, fmt.Sprintf(format, args...))
}

// check plays c and compares.
func (k *checker) check(c *scenario) (f faults) {
	t, err := dial(k.url)
	if err != nil {
		f.add("dial: %v", err)
		return f
	}
	defer t.conn.Close()
	t.method = c.Methods
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		t.send(c.steps)
	}()
	if c.BodyLen > 0 {
		<-sent // a reader that is slow on purpose
	}
	answers := k.readAnswers(t, c, &f)
	<-sent
	extra := k.ending(t, c, answers, &f)
	n, err := t.handled(k.client)
	if err != nil {
		f.add("count: %v", err)
		return f
	}
	k.compare(c, t, answers, n-extra, &f)
	return f
}

// readAnswers reads the answers that have to come: all of seq, or the first.
func (k *checker) readAnswers(t *talk, c *scenario, f *faults) []*answer {
	wait := patience
	if c.WaitMs > 0 {
		wait = time.Duration(c.WaitMs) * time.Millisecond
	}
	var answers []*answer
	for len(answers) < max(1, len(c.Seq)) {
		a, err := t.read(wait)
		switch {
		case err == nil:
			answers = append(answers, a)
			continue
		case errors.Is(err, errOpen):
			f.add("%d answers, then nothing for %v", len(answers), wait)
		case !errors.Is(err, io.EOF):
			f.add("%v", err)
		}
		break
	}
	return answers
}

// ending looks at the connection behind the answers. It returns how many
// requests of its own reached the application.
func (k *checker) ending(t *talk, c *scenario, answers []*answer, f *faults) (extra int) {
	closes := c.Closes != nil && *c.Closes
	stays := c.Closes != nil && !*c.Closes
	switch {
	case len(answers) == 0:
	case stays && answers[0].status == http.StatusSwitchingProtocols:
		if err := t.pinged(); err != nil {
			f.add("a WebSocket ping: %v", err)
		}
	case stays:
		if err := t.alive(); err != nil {
			f.add("%v", err)
			return 0
		}
		return 1
	case closes:
		wait := 1500 * time.Millisecond // below every deadline of the server
		if c.WaitMs > 0 {
			wait = time.Duration(c.WaitMs) * time.Millisecond
		}
		for more := slices.Max(c.Handled) - len(answers); ; more-- {
			a, err := t.read(wait)
			if err == nil && more > 0 && len(c.Seq) == 0 {
				continue // the case leaves open whether it is served
			}
			if err == nil {
				f.add("one more answer, status %d, where the connection should close", a.status)
			} else if !errors.Is(err, io.EOF) {
				f.add("%v, where the connection should close", err)
			}
			break
		}
	default:
		_ = t.conn.CloseWrite()
		for {
			if _, err := t.read(patience); err != nil {
				if !errors.Is(err, io.EOF) {
					f.add("behind a half-close: %v", err)
				}
				return 0
			}
		}
	}
	return 0
}

func (k *checker) compare(c *scenario, t *talk, answers []*answer, handled int, f *faults) {
	first := 0
	if len(answers) > 0 {
		first = answers[0].status
	}
	if !slices.Contains(c.Status, first) {
		f.add("first status %d, want one of %v", first, c.Status)
	}
	if !slices.Contains(c.Handled, handled) {
		f.add("%d requests reached the application, want one of %v", handled, c.Handled)
	}
	for i, want := range c.Seq {
		if i < len(answers) && answers[i].status != want {
			f.add("status %d is %d, want %v", i, answers[i].status, c.Seq)
		}
	}
	switch {
	case c.Prefer == "reject" && (handled > 0 || first != 0 && first < 400):
		f.add("status %d with %d handled, the strict choice is to refuse", first, handled)
	case c.Prefer == "accept" && first != 200:
		f.add("status %d, the choice is to accept", first)
	case first == 200 && handled > 0 && answers[0].header.Get("X-App") != "1":
		f.add("200 without X-App: not an answer of the application")
	}
	if c.BodyLen > 0 && (first != 200 || len(answers[0].body) != c.BodyLen) {
		f.add("a body of %d bytes, want %d", len(answers[0].body), c.BodyLen)
	}
	for _, name := range c.Checks {
		if !holds(name, t, answers) {
			f.add("%s does not hold", name)
		}
	}
}

// holds is one of the named checks of the corpus.
func holds(name string, t *talk, answers []*answer) bool {
	switch name {
	case "has100":
		return t.has100
	case "no100":
		return !t.has100
	}
	if len(answers) == 0 {
		return false
	}
	first := answers[0]
	switch name {
	case "date":
		_, err := time.Parse(http.TimeFormat, first.header.Get("Date"))
		return err == nil
	case "nobody":
		return len(first.body) == 0
	case "nocl":
		return first.header.Get("Content-Length") == ""
	case "close-hdr":
		return first.close
	case "upgrade": // the key of every case is the example of RFC 6455, section 1.3
		return first.header.Get("Sec-WebSocket-Accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" &&
			strings.EqualFold(first.header.Get("Upgrade"), "websocket") &&
			strings.EqualFold(first.header.Get("Connection"), "upgrade")
	}
	return false
}

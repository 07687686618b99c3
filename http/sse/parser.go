// SPDX-License-Identifier: MIT

package sse

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrTooLong ends the reading of a stream whose event is above the limit.
var ErrTooLong = errors.New("sse: event is too long")

// ParserEventMax is the longest event that a Parser keeps where nobody says.
const ParserEventMax = 8 << 20

// A Parser takes an event stream apart as WHATWG HTML 9.2.6 has it, for a
// client. The zero value is ready. It is not safe for concurrent use.
type Parser struct {
	// EventMax bounds the bytes of one event, lines and names included; 0:
	// ParserEventMax.
	EventMax int
	// LastID is what a client sends as its Last-Event-ID when it comes back.
	LastID string
	// Retry is the reconnection time that the stream asked for; 0: none.
	Retry time.Duration

	line    []byte // the beginning of a line
	lines   bool   // a line has ended: a BOM has no meaning any more
	afterCR bool   // an LF now belongs to the CR before
	id      string // becomes LastID with the event
	name    string
	data    []byte // each line with its LF
	size    int
}

// Feed takes the next bytes of the stream, cut anywhere, and calls emit for each
// event that they complete: its Name is "message" where it has none, its ID the
// LastID. An event that the stream does not complete is never seen.
func (p *Parser) Feed(b []byte, emit func(Event)) error {
	for len(b) > 0 {
		if p.afterCR {
			p.afterCR = false
			if b[0] == '\n' {
				b = b[1:]
				continue
			}
		}
		end := indexBreak(b)
		if end < 0 {
			p.line = append(p.line, b...)
			return p.checkSize(len(b))
		}
		if err := p.checkSize(end + 1); err != nil {
			return err
		}
		line := b[:end]
		if len(p.line) > 0 {
			p.line = append(p.line, line...)
			line = p.line
		}
		p.afterCR = b[end] == '\r'
		b = b[end+1:]
		p.takeLine(line, emit)
		p.line = p.line[:0]
	}
	return nil
}

// Reset prepares p for the next connection of the same source. LastID stays, and
// so is the id of events that have none; an event that was not whole is
// forgotten.
func (p *Parser) Reset() {
	p.line, p.data = p.line[:0], p.data[:0]
	p.lines, p.afterCR, p.name, p.size = false, false, "", 0
	p.id = p.LastID
}

func (p *Parser) checkSize(n int) error {
	limit := p.EventMax
	if limit <= 0 {
		limit = ParserEventMax
	}
	if p.size += n; p.size > limit {
		return ErrTooLong
	}
	return nil
}

func (p *Parser) takeLine(line []byte, emit func(Event)) {
	if !p.lines {
		p.lines = true
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	if len(line) == 0 {
		p.dispatch(emit)
		return
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		p.name = toUTF8(value)
	case "data":
		p.data = append(append(p.data, value...), '\n')
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			p.id = toUTF8(value)
		}
	case "retry":
		p.takeRetry(string(value))
	}
}

func (p *Parser) takeRetry(value string) {
	if value == "" || strings.Trim(value, "0123456789") != "" {
		return
	}
	ms, err := strconv.ParseInt(value, 10, 64)
	if err != nil || ms > retryMax.Milliseconds() {
		ms = retryMax.Milliseconds()
	}
	p.Retry = time.Duration(ms) * time.Millisecond
}

func (p *Parser) dispatch(emit func(Event)) {
	p.LastID = p.id
	if len(p.data) > 0 {
		e := Event{ID: p.LastID, Name: p.name, Data: toUTF8(p.data[:len(p.data)-1])}
		if e.Name == "" {
			e.Name = "message"
		}
		emit(e)
	}
	p.name, p.data, p.size = "", p.data[:0], 0
}

// indexBreak is the first CR or LF, or -1.
func indexBreak(b []byte) int {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			return i
		}
	}
	return -1
}

func toUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string(appendUTF8(nil, string(b)))
}

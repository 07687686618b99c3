// SPDX-License-Identifier: MIT

package sse

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// A heard is what a client has of a stream. It is written from the rules of
// WHATWG HTML 9.2.6 and shares nothing with the encoder.
type heard struct {
	events []heardEvent
	lastID string
	retry  time.Duration

	// of the event under way
	line   []byte
	sawCR  bool
	name   string
	idBuf  string
	data   strings.Builder
	begun  bool
	lineNo int
}

type heardEvent struct{ id, name, data string }

func (h *heard) feed(b []byte) {
	for _, c := range b {
		switch {
		case c == '\n' && h.sawCR:
			h.sawCR = false
		case c == '\n' || c == '\r':
			h.sawCR = c == '\r'
			h.endLine()
		default:
			h.sawCR = false
			h.line = append(h.line, c)
		}
	}
}

func (h *heard) endLine() {
	line := string(h.line)
	h.line = h.line[:0]
	if h.lineNo++; h.lineNo == 1 {
		line = strings.TrimPrefix(line, "\uFEFF")
	}
	if line == "" {
		h.dispatch()
		return
	}
	field, value, found := strings.Cut(line, ":")
	if found && field == "" {
		return
	}
	value = strings.TrimPrefix(value, " ")
	switch field {
	case "event":
		h.name = value
	case "data":
		h.data.WriteString(value)
		h.data.WriteByte('\n')
		h.begun = true
	case "id":
		if !strings.Contains(value, "\x00") {
			h.idBuf = value
		}
	case "retry":
		if regexp.MustCompile("^[0-9]+$").MatchString(value) {
			d, err := time.ParseDuration(value + "ms")
			if err != nil || d > 24*time.Hour {
				d = 24 * time.Hour // the Parser's own bound
			}
			h.retry = d
		}
	}
}

func (h *heard) dispatch() {
	h.lastID = utf(h.idBuf)
	if h.begun {
		name := h.name
		if name == "" {
			name = "message"
		}
		h.events = append(h.events,
			heardEvent{h.lastID, utf(name), utf(strings.TrimSuffix(h.data.String(), "\n"))})
	}
	h.name, h.begun = "", false
	h.data.Reset()
}

// utf decodes as the rules say, with one U+FFFD for each bad byte.
func utf(s string) string { return string([]rune(s)) }

func TestAppend(t *testing.T) {
	for _, c := range []struct {
		event Event
		want  string
	}{
		{Event{}, ""},
		{Event{Data: "a"}, "data: a\n\n"},
		{Event{Data: "a\nb\r\nc\rd"}, "data: a\ndata: b\ndata: c\ndata: d\n\n"},
		{Event{Data: "a\n"}, "data: a\ndata: \n\n"},
		{Event{Data: " lead"}, "data:  lead\n\n"},
		{Event{Data: "\r\r\n"}, "data: \ndata: \ndata: \n\n"},
		{Event{Empty: true}, "data: \n\n"},
		{Event{Name: "n", ID: "7", Retry: 1500 * time.Millisecond, Data: "x"},
			"event: n\nid: 7\nretry: 1500\ndata: x\n\n"},
		{Event{ID: "7"}, "id: 7\n\n"},
		{Event{Data: "a\xffb\xc3"}, "data: a\uFFFDb\uFFFD\n\n"},
		{Event{Data: "\uFEFFx"}, "data: \uFEFFx\n\n"},
	} {
		got, err := Append([]byte("="), c.event)
		if string(got) != "="+c.want || err != nil {
			t.Errorf("Append(%+v) = %q, %v; want %q", c.event, got, err, "="+c.want)
		}
	}
}

func TestAppendRefusesWhatWouldEndALine(t *testing.T) {
	for _, bad := range []string{"a\nb", "a\rb", "a\x00b", "\r\n"} {
		for _, e := range []Event{{ID: bad, Data: "x"}, {Name: bad, Data: "x"}} {
			if got, err := Append([]byte("="), e); err != ErrField || string(got) != "=" {
				t.Errorf("Append(%+v) = %q, %v; want ErrField and nothing appended", e, got, err)
			}
		}
		if got, err := AppendComment(nil, bad); err != ErrField || len(got) != 0 {
			t.Errorf("AppendComment(%q) = %q, %v; want ErrField", bad, got, err)
		}
	}
	for _, d := range []time.Duration{-1, 25 * time.Hour} {
		if _, err := Append(nil, Event{Retry: d}); err != ErrRetry {
			t.Errorf("Append(retry %v) = %v; want ErrRetry", d, err)
		}
	}
}

// TestRandomEventsRoundTrip sends random events through the second parser, cut
// at random places, and through the exported one, cut at every place.
func TestRandomEventsRoundTrip(t *testing.T) {
	count := 100_000
	if testing.Short() {
		count = 1_000
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	h, p := &heard{}, &Parser{}
	for i := range count {
		e := randomEvent(rnd)
		b, err := Append(nil, e)
		if err != nil {
			t.Fatalf("Append(%+v): %v", e, err)
		}
		h.events = h.events[:0]
		for rest := b; len(rest) > 0; {
			n := 1 + rnd.IntN(len(rest))
			h.feed(rest[:n])
			rest = rest[n:]
		}
		checkHeard(t, h, e)
		for cut := range b {
			checkParsed(t, p, h, b[:cut], b[cut:])
		}
		if t.Failed() {
			t.Fatalf("at event %d", i)
		}
	}
}

// checkParsed wants p to find in the pieces what h has heard.
func checkParsed(t *testing.T, p *Parser, h *heard, pieces ...[]byte) {
	t.Helper()
	var got []heardEvent
	for _, b := range pieces {
		err := p.Feed(b, func(e Event) { got = append(got, heardEvent{e.ID, e.Name, e.Data}) })
		if err != nil {
			t.Fatalf("Feed(%q): %v", b, err)
		}
	}
	if !slices.Equal(got, h.events) || p.LastID != h.lastID || p.Retry != h.retry {
		t.Errorf("Feed(%q) = %+q, id %q, retry %v; want %+q, %q, %v",
			pieces, got, p.LastID, p.Retry, h.events, h.lastID, h.retry)
	}
}

func checkHeard(t *testing.T, h *heard, e Event) {
	t.Helper()
	if e.Retry != 0 && h.retry != e.Retry {
		t.Errorf("%+v was heard with retry %v", e, h.retry)
	}
	if e.Data == "" && !e.Empty {
		if len(h.events) != 0 {
			t.Errorf("%+v was dispatched as %+q; want nothing", e, h.events)
		}
		return
	}
	data := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(e.Data)
	want := heardEvent{h.lastID, e.Name, utf(data)}
	if want.name == "" {
		want.name = "message"
	}
	if len(h.events) != 1 || h.events[0] != want || e.ID != "" && h.lastID != e.ID {
		t.Errorf("%+v was heard as %+q, id %q; want %+q", e, h.events, h.lastID, want)
	}
}

func randomEvent(rnd *rand.Rand) Event {
	pieces := []string{"a", "data", ":", " ", "\n", "\r", "\r\n", "é", "\xff", "\uFEFF", "\x00",
		"id: 9", "event: x", "\u2028", strings.Repeat("long ", 50)}
	var e Event
	for range rnd.IntN(8) {
		e.Data += pieces[rnd.IntN(len(pieces))]
	}
	if rnd.IntN(2) == 0 {
		e.ID = strconv.Itoa(rnd.IntN(1 << 20))
	}
	if rnd.IntN(2) == 0 {
		e.Name = "name"
	}
	e.Empty = rnd.IntN(4) == 0
	if rnd.IntN(4) == 0 {
		e.Retry = time.Duration(rnd.IntN(1<<20)) * time.Millisecond
	}
	return e
}

func FuzzAppend(f *testing.F) {
	f.Add("", "", "a\nb", false)
	f.Add("1", "x", "\r\n\r", true)
	f.Add("1\n", "x\r", "\xff", true)
	f.Fuzz(func(t *testing.T, id, name, data string, empty bool) {
		e := Event{ID: id, Name: name, Data: data, Empty: empty}
		b, err := Append(nil, e)
		if err != nil {
			if isLine(id) && isLine(name) {
				t.Fatalf("Append(%+v) = %v", e, err)
			}
			return
		}
		h := &heard{}
		h.feed(b)
		if utf8.ValidString(id) && utf8.ValidString(name) {
			checkHeard(t, h, e)
		}
	})
}

func TestParserBoundsAnEvent(t *testing.T) {
	for _, input := range []string{
		"data: " + strings.Repeat("x", 100), strings.Repeat("data: y\n", 20), strings.Repeat("z", 101),
		":" + strings.Repeat("c", 100) + "\n",
	} {
		p := &Parser{EventMax: 100}
		if err := p.Feed([]byte(input), func(Event) {}); err != ErrTooLong {
			t.Errorf("Feed(%q) with a bound of 100 = %v; want ErrTooLong", input, err)
		}
	}
	p, events := &Parser{EventMax: 100}, 0
	err := p.Feed([]byte(strings.Repeat("data: y\n\n", 50)), func(Event) { events++ })
	if err != nil || events != 50 {
		t.Errorf("50 short events: %d, %v; want all", events, err)
	}
	for n, want := range map[int]error{92: nil, 93: ErrTooLong} { // 92 make 100 in all
		event := "data: " + strings.Repeat("x", n) + "\n\n"
		if err := p.Feed([]byte(event), func(Event) {}); err != want {
			t.Errorf("an event of %d bytes with a bound of 100 = %v, want %v", len(event), err, want)
		}
		p.Reset()
	}
}

// FuzzParser compares the parser, fed in two pieces, with the second one.
func FuzzParser(f *testing.F) {
	for _, s := range []string{
		"\uFEFFdata:a\n\n", "\uFEFF\uFEFFdata:a\n\n", "data\n\ndata\ndata\n\n",
		"id: 1\ndata: x\n\nid\ndata:y\n\n", "id: 1\x00\ndata: x\n\n", "id:\x00\ndata:x\n\n",
		"data:test\r\n\r\n", "retry: 3000\nretry: x\nretry:\n\n",
		"retry: 99999999999999999999\n\n",
		":comment\ndata : no\ndata:  two\n\n", "event\ndata:a\r\rid:9\n",
		"data:a\n\uFEFFdata:b\n\n", "data:a\r\ndata:b\r\n\r\n", "data:\xff\n\n",
		"event: e\xc3\ndata:a\n\n",
	} {
		for cut := range len(s) {
			f.Add([]byte(s), uint(cut))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint) {
		h, p := &heard{}, &Parser{}
		h.feed(b)
		at := min(cut, uint(len(b)))
		checkParsed(t, p, h, b[:at], b[at:])
	})
}

func TestAppendRetryBounds(t *testing.T) {
	for _, c := range []struct {
		retry time.Duration
		want  string
	}{
		{time.Millisecond, "retry: 1\n\n"}, {retryMax, "retry: 86400000\n\n"},
		{retryMax + 1, ""}, {-1, ""}, {0, ""},
	} {
		got, err := Append(nil, Event{Retry: c.retry})
		refused := c.retry < 0 || c.retry > retryMax
		if string(got) != c.want || (err == ErrRetry) != refused {
			t.Errorf("Retry %v: %q, %v; want %q", c.retry, got, err, c.want)
		}
	}
}

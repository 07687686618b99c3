// SPDX-License-Identifier: MIT

package grip

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestEvents(t *testing.T) {
	const body = "OPEN\r\nTEXT 5\r\nhello\r\nTEXT 0\r\n\r\nBINARY 1a\r\n" +
		"\r\n\x00\xff3456789012345678901234\r\nPING\r\nPONG 1\r\nx\r\nCLOSE 4\r\n\x03\xe8by\r\n" +
		"DISCONNECT\r\n"
	want := []Event{
		{EventOpen, nil}, {EventText, []byte("hello")}, {EventText, []byte{}},
		{EventBinary, []byte("\r\n\x00\xff3456789012345678901234")}, {EventPing, nil},
		{EventPong, []byte("x")}, {EventClose, []byte("\x03\xe8by")}, {EventDisconnect, nil},
	}
	got, err := ParseEvents([]byte(body))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("ParseEvents(%q) = %v, %v, want %v", body, got, err, want)
	}
	var again []byte
	for _, e := range want {
		again = AppendEvent(again, e)
	}
	if string(again) != body {
		t.Errorf("AppendEvent of %v: %q, want %q", want, again, body)
	}
	lenient := "TEXT\r\nTEXT 00A\r\n0123456789\r\nPING 0\r\n\r\n"
	got, err = ParseEvents([]byte(lenient))
	if err != nil || len(got) != 3 || len(got[1].Content) != 10 {
		t.Errorf("ParseEvents(%q) = %v, %v, want three events", lenient, got, err)
	}
	if got, err := ParseEvents(nil); got != nil || err != nil {
		t.Errorf("ParseEvents(nil) = %v, %v, want nothing", got, err)
	}
}

func TestParseEventsRefuses(t *testing.T) {
	for _, tc := range []struct{ body, want string }{
		{"TEXT 5", "event 1: no line with a type"},
		{"OPEN\r\nOPEN\n", "event 2: no line with a type"},
		{strings.Repeat("A", 100) + "\r\n", "no line with a type"},
		{"\r\n", `"" is no type; the types are OPEN, TEXT, BINARY`},
		{"text 1\r\nx\r\n", `"text" is no type`},
		{"CONTINUATION\r\n", "is no type"},
		{"TEXT x\r\n", `the length of TEXT is "x", want hex digits`},
		{"TEXT -1\r\n", "want hex digits"},
		{"TEXT \r\n", "want hex digits"},
		{"TEXT ffffffffffffffff\r\n", "want hex digits"},
		{"TEXT 5\r\nhell\r\n", "the content of TEXT is not 5 bytes with CRLF behind"},
		{"TEXT 5\r\nhello", "CRLF behind"},
		{"TEXT 5\r\nhello\r", "CRLF behind"},
		{"TEXT 5\r\nhello!\r\n", "CRLF behind"},
		{"TEXT 7fffffff\r\nhello\r\n", "CRLF behind"},
		{"TEXT 1\r\n\xff\r\n", "a TEXT has to be UTF-8"},
		{"PING 7e\r\n" + strings.Repeat("x", 126) + "\r\n", "126 bytes in a PING, at most 125"},
		{strings.Repeat("OPEN\r\n", MaxEvents+1), "more than 10000 events"},
		{strings.Repeat("x", MaxEventsBytes+1), "1000001 bytes of events, at most 1000000"},
	} {
		got, err := ParseEvents([]byte(tc.body))
		if got != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("ParseEvents(%.60q) = %d, %v, want an error with %q", tc.body, len(got), err, tc.want)
		}
	}
}

func TestCloseCode(t *testing.T) {
	long := strings.Repeat("ä", 62)
	for _, tc := range []struct {
		event  Event
		code   int
		reason string
		bad    string
	}{
		{CloseEvent(1000, "bye"), 1000, "bye", ""},
		{CloseEvent(4000, long), 4000, long[:122], ""},
		{CloseEvent(0, "bye"), 0, "", ""},
		{Event{EventClose, []byte{0, 0}}, 0, "", ""}, // django-grip's close()
		{Event{EventClose, []byte{3}}, 0, "", "two bytes"},
		{CloseEvent(1006, ""), 0, "", "1006, a code that does not travel"},
		{CloseEvent(999, ""), 0, "", "does not travel"},
		{CloseEvent(2999, ""), 0, "", "does not travel"},
		{CloseEvent(5000, ""), 0, "", "does not travel"},
		{CloseEvent(1000, "\xff"), 0, "", "not UTF-8"},
	} {
		code, reason, err := tc.event.CloseCode()
		if tc.bad == "" && err != nil || tc.bad != "" && !strings.Contains(fmt.Sprint(err), tc.bad) {
			t.Errorf("CloseCode(%q) = %v, want %q", tc.event.Content, err, tc.bad)
		}
		if code != tc.code || reason != tc.reason {
			t.Errorf("CloseCode(%q) = %d, %q, want %d, %q",
				tc.event.Content, code, reason, tc.code, tc.reason)
		}
	}
}

func TestParseSocketAnswer(t *testing.T) {
	plain := SocketAnswer{Interval: -1, Accepted: -1}
	with := func(change func(*SocketAnswer)) SocketAnswer {
		a := plain
		change(&a)
		return a
	}
	for _, tc := range []struct {
		fields string
		want   SocketAnswer
	}{
		{"X: y\n", plain},
		{"Content-Type: application/websocket-events; a=b\n",
			with(func(a *SocketAnswer) { a.Events = true })},
		{"Sec-WebSocket-Extensions: grip\n",
			with(func(a *SocketAnswer) { a.Grip, a.Prefix = true, "m:" })},
		{"Sec-WebSocket-Extensions: other; x=\"a,b\", Grip; message-prefix=\"x;\"\n",
			with(func(a *SocketAnswer) { a.Grip, a.Prefix = true, "x;" })},
		{"Sec-WebSocket-Extensions: grip; message-prefix=\"\"\n",
			with(func(a *SocketAnswer) { a.Grip = true })},
		{"Sec-WebSocket-Extensions: other\n", plain},
		{"Keep-Alive-Interval: 5\n", with(func(a *SocketAnswer) { a.Interval = 20 * time.Second })},
		{"Keep-Alive-Interval: 30\n", with(func(a *SocketAnswer) { a.Interval = 30 * time.Second })},
		{"Keep-Alive-Interval: 0\n", with(func(a *SocketAnswer) { a.Interval = 0 })},
		{"Content-Bytes-Accepted: 12\n", with(func(a *SocketAnswer) { a.Accepted = 12 })},
		{"Sec-WebSocket-Protocol: chat\n", with(func(a *SocketAnswer) { a.Protocol = "chat" })},
		{"Set-Meta-User: u\nset-meta-b: \nSet-Meta-: x\n",
			with(func(a *SocketAnswer) { a.Meta = []Pair{{"user", "u"}, {"b", ""}} })},
	} {
		got, err := ParseSocketAnswer(fields(tc.fields))
		if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("ParseSocketAnswer(%q) = %+v, %v, want %+v", tc.fields, got, err, tc.want)
		}
	}
	for _, tc := range []struct{ fields, want string }{
		{"Keep-Alive-Interval: soon\n", `Keep-Alive-Interval: "soon": want whole seconds`},
		{"Content-Bytes-Accepted: -1\n", "want a number of bytes"},
		{"Sec-WebSocket-Extensions: grip; message-prefix=\"m:\n", "a quote is not closed"},
		{strings.Repeat("Set-Meta-A: b\n", MaxMeta) + "Set-Meta-B: c", "at most 64 names"},
	} {
		_, err := ParseSocketAnswer(fields(tc.fields))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("ParseSocketAnswer(%.60q) = %v, want an error with %q", tc.fields, err, tc.want)
		}
	}
}

func TestRoute(t *testing.T) {
	off, on, bare := SocketAnswer{}, SocketAnswer{Grip: true, Prefix: "m:"}, SocketAnswer{Grip: true}
	for _, tc := range []struct {
		answer  SocketAnswer
		event   Event
		to      Route
		content string
	}{
		{off, Event{EventText, []byte("c:{}")}, ToClient, "c:{}"},
		{on, Event{EventText, []byte("c:{}")}, ToControl, "{}"},
		{on, Event{EventBinary, []byte("c:{}")}, ToNobody, ""},
		{on, Event{EventText, []byte("m:hi")}, ToClient, "hi"},
		{on, Event{EventBinary, []byte("m:hi")}, ToClient, "hi"},
		{on, Event{EventText, []byte("hi")}, ToNobody, ""},
		{on, Event{EventPong, []byte("hi")}, ToClient, "hi"},
		{bare, Event{EventText, []byte("hi")}, ToClient, "hi"},
		{bare, Event{EventText, []byte("c:hi")}, ToControl, "hi"},
	} {
		if to, content := tc.answer.Route(tc.event); to != tc.to || string(content) != tc.content {
			t.Errorf("%+v.Route(%v) = %v, %q, want %v, %q",
				tc.answer, tc.event, to, content, tc.to, tc.content)
		}
	}
}

func TestSocketMeta(t *testing.T) {
	a := SocketAnswer{Meta: []Pair{{"a", ""}, {"b", "2"}}}
	got := a.SetMeta(Meta{{"a", "1"}, {"c", "3"}})
	if want := (Meta{{"c", "3"}, {"b", "2"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("SetMeta = %v, want %v", got, want)
	}
	lines := AppendMetaFields(nil, Meta{{"a", "1"}, {"b c", "2"}, {"d", "3\r\nX: y"}, {"e", "4"}})
	if want := "Meta-a: 1\r\nMeta-e: 4\r\n"; string(lines) != want {
		t.Errorf("AppendMetaFields = %q, want %q", lines, want)
	}
}

func TestParseControl(t *testing.T) {
	for _, tc := range []struct {
		text string
		want Control
	}{
		{`{"type":"subscribe","channel":"a","filters":["skip-self"]}`,
			Control{Type: Subscribe, Channel: "a", Filters: Filters{SkipSelf}}},
		{`{"type":"unsubscribe","channel":"a"}`, Control{Type: Unsubscribe, Channel: "a"}},
		{`{"type":"detach"}`, Control{Type: Detach}},
		{`{"type":"session","id":"x"}`, Control{Type: Session, Name: "x"}},
		{`{"type":"set-meta","name":"a","value":"b"}`, Control{Type: SetMeta, Name: "a", Value: "b"}},
		{`{"type":"set-meta","name":"a"}`, Control{Type: SetMeta, Name: "a"}},
		{`{"type":"keep-alive"}`, Control{Type: SetKeepAlive}},
		{`{"type":"keep-alive","content":"x"}`,
			Control{Type: SetKeepAlive, Message: Message{Content: []byte("x")},
				Timeout: 55 * time.Second}},
		{`{"type":"keep-alive","content-bin":"aGk=","message-type":"ping","timeout":0,"mode":"interval"}`,
			Control{Type: SetKeepAlive, Message: Message{Type: Ping, Content: []byte("hi")},
				Timeout: time.Second, Interval: true}},
		{`{"type":"send-delayed","content-bin":"/w=="}`, Control{Type: SendDelayed,
			Message: Message{Type: Binary, Content: []byte{0xff}}, Timeout: time.Second}},
		{`{"type":"flush-delayed"}`, Control{Type: FlushDelayed}},
	} {
		got, err := ParseControl([]byte(tc.text), checkName)
		if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("ParseControl(%s) = %+v, %v, want %+v", tc.text, got, err, tc.want)
		}
	}
}

func TestParseControlRefuses(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{`x`, "body: \"x\": want a JSON object"},
		{`{}`, "type: the types are subscribe, unsubscribe, detach, session, set-meta"},
		{`{"type":"Subscribe"}`, `type: "Subscribe": the types are`},
		{`{"type":"subscribe"}`, "channel: it is empty"},
		{`{"type":"unsubscribe"}`, "channel: it is empty"},
		{`{"type":"subscribe","channel":"\u0001a"}`, `channel: "\x01a": the name is reserved`},
		{`{"type":"subscribe","channel":"a","filters":["x"]}`, "the filters are skip-self"},
		{`{"type":"set-meta"}`, "name: want a name"},
		{`{"type":"keep-alive","content":"x","timeout":-1}`, "want a number from 0"},
		{`{"type":"keep-alive","content":"x","mode":"x"}`, "want idle or interval"},
		{`{"type":"keep-alive","content":"x","message-type":"x"}`, "message-type: \"x\": want text"},
		{`{"type":"send-delayed"}`, "content: want content or content-bin"},
	} {
		c, err := ParseControl([]byte(tc.text), checkName)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("ParseControl(%s) = %+v, %v, want an error with %q", tc.text, c, err, tc.want)
		}
	}
	_, err := ParseControl([]byte(`{"type":"subscribe","channel":"\u0001a"}`), checkName)
	if !errors.Is(err, errReserved) {
		t.Errorf("ParseControl of a reserved name = %v, want the error of the check", err)
	}
}

func FuzzParseEvents(f *testing.F) {
	f.Add([]byte("OPEN\r\nTEXT 5\r\nhello\r\nBINARY 1\r\n\xff\r\nCLOSE 2\r\n\x03\xe8\r\n"))
	f.Add([]byte("PING\r\nPONG 00\r\n\r\nDISCONNECT\r\nTEXT\r\n"))
	f.Add([]byte("TEXT 7fffffff\r\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		events, err := ParseEvents(body)
		if err != nil {
			return
		}
		var encoded []byte
		for _, e := range events {
			encoded = AppendEvent(encoded, e)
			_, _, _ = e.CloseCode()
		}
		back, err := ParseEvents(encoded)
		if err != nil || len(back) != len(events) {
			t.Fatalf("ParseEvents(%q) = %v, written %q, read %v, %v", body, events, encoded, back, err)
		}
		for i := range back {
			if back[i].Type != events[i].Type || !bytes.Equal(back[i].Content, events[i].Content) {
				t.Fatalf("event %d of %q: %v, want %v", i, body, back[i], events[i])
			}
		}
	})
}

func FuzzParseControl(f *testing.F) {
	f.Add([]byte(`{"type":"subscribe","channel":"a","filters":["skip-self"]}`))
	f.Add([]byte(`{"type":"keep-alive","content":"x","timeout":3,"mode":"idle"}`))
	f.Add([]byte(`{"type":"set-meta","name":"a","value":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseControl(text, checkName)
		subscribes := c.Type == Subscribe || c.Type == Unsubscribe
		if err == nil && subscribes && checkName(c.Channel) != nil {
			t.Fatalf("ParseControl(%q) = %+v", text, c)
		}
	})
}

func FuzzParseSocketAnswer(f *testing.F) {
	f.Add("Content-Type: application/websocket-events\n" +
		"Sec-WebSocket-Extensions: grip; message-prefix=\"m:\"\n")
	f.Add("Keep-Alive-Interval: 20\nSet-Meta-A: b\nContent-Bytes-Accepted: 5\n")
	f.Fuzz(func(t *testing.T, lines string) {
		a, err := ParseSocketAnswer(fields(lines))
		if err == nil && (a.Interval > 0 && a.Interval < minInterval || len(a.Meta) > MaxMeta) {
			t.Fatalf("ParseSocketAnswer(%q) = %+v", lines, a)
		}
	})
}

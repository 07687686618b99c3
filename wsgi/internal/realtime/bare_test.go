// SPDX-License-Identifier: MIT

package realtime

import (
	"strings"
	"testing"

	"m0serve.dev/http/wire"
)

func TestWholeAnswers(t *testing.T) {
	fields := []Field{{Name: "Date", Value: "then"}, {Name: "Content-Length", Value: "999"},
		{Name: "connection", Value: "keep-alive"}, {Name: "X-A", Value: "1"},
		{Name: "X-B", Value: "a\r\nb"}}
	for _, c := range []struct {
		status       int
		reason, want string
	}{
		{200, "", "HTTP/1.1 200 OK\r\nDate: then\r\nX-A: 1\r\nContent-Length: 4\r\n" +
			"Connection: close\r\n\r\nbody"},
		{201, "Made", "HTTP/1.1 201 Made\r\nDate: then\r\nX-A: 1\r\nContent-Length: 4\r\n" +
			"Connection: close\r\n\r\nbody"},
		{204, "", "HTTP/1.1 204 No Content\r\nDate: then\r\nX-A: 1\r\nConnection: close\r\n\r\n"},
		{304, "a\nb", "HTTP/1.1 304 Not Modified\r\nDate: then\r\nX-A: 1\r\nConnection: close\r\n\r\n"},
	} {
		got := string(appendAnswer(nil, c.status, c.reason, fields, []byte("body"), wire.LineClose))
		if got != c.want {
			t.Errorf("appendAnswer(%d, %q) = %q, want %q", c.status, c.reason, got, c.want)
		}
	}
	if got := string(appendAnswer(nil, 200, "", nil, nil, "")); !strings.Contains(got, "\r\nDate: ") {
		t.Errorf("%q has no Date", got)
	}
}

func TestDataOfEvents(t *testing.T) {
	for block, want := range map[string]string{
		"event: a\nid: 1\ndata: one\ndata: two\n\n": "one\ntwo",
		"data: \n\n": "",
	} {
		if got, ok := DataOf([]byte(block)); string(got) != want || !ok {
			t.Errorf("DataOf(%q) = %q, %v; want %q", block, got, ok, want)
		}
	}
	for _, block := range []string{": comment\n\n", "id: 1\n\n", "data: not whole"} {
		if got, ok := DataOf([]byte(block)); ok {
			t.Errorf("DataOf(%q) = %q; want none", block, got)
		}
	}
}

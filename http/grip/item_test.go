// SPDX-License-Identifier: MIT

package grip

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseItems(t *testing.T) {
	stream := func(s Stream) Item { return Item{Channel: "a", Stream: &s} }
	response := func(r Response) Item { return Item{Channel: "a", Response: &r} }
	message := func(m Message) Item { return Item{Channel: "a", Message: &m} }
	for _, tc := range []struct {
		name, item string
		want       Item
	}{
		{"as eventstream has it", `{"id":"5","prev-id":"4","channel":"events-test","http-stream":` +
			`{"content-filters":["build-id"],"content":"id: %I\ndata: 100%%\n\n"},` +
			`"meta":{"skip_users":"a,b"}}`,
			Item{Channel: "events-test", ID: "5", PrevID: "4", Meta: Meta{{"skip_users", "a,b"}},
				Stream: &Stream{Content: []byte("id: %I\ndata: 100%%\n\n"), Filters: Filters{BuildID}}}},
		{"under formats", `{"channel":"a","formats":{"http-stream":{"content":"x"}},"no-seq":true}`,
			Item{Channel: "a", NoSeq: true, Stream: &Stream{Content: []byte("x")}}},
		{"all formats", `{"channel":"a","http-stream":{"content":"x"},"http-response":{"body":"y"},` +
			`"ws-message":{"content":"z"},"json-object":{"a":1},"size":3}`,
			Item{Channel: "a", Stream: &Stream{Content: []byte("x")},
				Response: &Response{Code: 200, Body: []byte("y")}, Message: &Message{Content: []byte("z")}}},
		{"close", `{"channel":"a","http-stream":{"action":"close"}}`, stream(Stream{Action: Close})},
		{"hint", `{"channel":"a","http-stream":{"action":"hint"}}`, stream(Stream{Action: Hint})},
		{"send", `{"channel":"a","http-stream":{"action":"send","content-bin":"aGk="}}`,
			stream(Stream{Content: []byte("hi")})},
		{"no filters are some",
			`{"channel":"a","http-stream":{"content":"","content-filters":[]}}`,
			stream(Stream{Content: []byte{}, Filters: Filters{}})},
		{"response", `{"channel":"a","http-response":{"code":404,"reason":"No","headers":` +
			`{"B":"c","A":"b"},"body-bin":"aGk"}}`,
			response(Response{Code: 404, Reason: "No", Fields: []Pair{{"B", "c"}, {"A", "b"}},
				Body: []byte("hi")})},
		{"response hint", `{"channel":"a","http-response":{"action":"hint"}}`,
			response(Response{Action: Hint})},
		{"binary", `{"channel":"a","ws-message":{"content-bin":"/w=="}}`,
			message(Message{Type: Binary, Content: []byte{0xff}})},
		{"text in base64", `{"channel":"a","ws-message":{"type":"text","content-bin":"aGk="}}`,
			message(Message{Content: []byte("hi")})},
		{"ping", `{"channel":"a","ws-message":{"type":"ping"}}`, message(Message{Type: Ping})},
		{"close of a socket", `{"channel":"a","ws-message":{"action":"close","code":4000,"reason":"x"}}`,
			message(Message{Action: Close, Code: 4000, Reason: "x"})},
		{"refresh", `{"channel":"a","ws-message":{"action":"refresh"}}`,
			message(Message{Action: Refresh})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseItems([]byte(`{"items":[`+tc.item+`]}`), checkName)
			if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], tc.want) {
				t.Errorf("ParseItems(%s) = %+v, %v, want %+v", tc.item, got, err, tc.want)
			}
		})
	}
	two := `{"items":[{"channel":"a","http-stream":{"content":"1"}},` +
		`{"channel":"b","http-stream":{"content":"2"}}]}`
	items, err := ParseItems([]byte(two), checkName)
	if err != nil || len(items) != 2 || items[0].Channel != "a" || items[1].Channel != "b" {
		t.Errorf("ParseItems(%s) = %+v, %v, want two items in order", two, items, err)
	}
}

// One bad item refuses all of them, and is named.
func TestParseItemsRefuses(t *testing.T) {
	item := func(s string) string {
		return `{"items":[{"channel":"a","http-stream":{"content":"x"}},` + s + `]}`
	}
	for _, tc := range []struct{ body, want string }{
		{strings.Repeat(" ", MaxPublishBytes+1), "1000001 bytes, at most 1000000"},
		{`items`, "body: \"items\": want a JSON object"},
		{`{}`, `items: want {"items": [...]}`},
		{`{"items":{}}`, `items: "{}": want a list`},
		{`{"items":[` + strings.Repeat("1,", MaxItems) + `1]}`, "1025 items, at most 1024"},
		{item(`7`), `items[1]: "7": want a JSON object`},
		{item(`{}`), "items[1].channel: it is empty"},
		{item(`{"channel":["a"]}`), `items[1].channel: "[\"a\"]": want a string`},
		{item(`{"channel":"\u0001a","http-stream":{"content":""}}`), "items[1].channel: \"\\x01a\": the"},
		{item(`{"channel":"a"}`), "items[1]: want one of the formats http-stream"},
		{item(`{"channel":"a","formats":{"x":{}}}`), "want one of the formats"},
		{item(`{"channel":"a","id":5}`), `items[1].id: "5": want a string`},
		{item(`{"channel":"a","id":"5\nX: y"}`), `items[1].id: "5\nX: y": want one line`},
		{item(`{"channel":"a","prev-id":"` + strings.Repeat("5", MaxID+1) + `"}`), "at most 1024 bytes"},
		{item(`{"channel":"a","no-seq":1}`), `no-seq: "1": want true or false`},
		{item(`{"channel":"a","meta":{"a":1}}`), `items[1].meta.a: "1": want a string`},
		{item(`{"channel":"a","http-stream":{}}`), "items[1].http-stream: want content, content-bin"},
		{item(`{"channel":"a","http-stream":{"content":7}}`), "stream.content: \"7\": want a string"},
		{item(`{"channel":"a","http-stream":{"content-bin":"?"}}`), "content-bin: \"?\": want base64"},
		{item(`{"channel":"a","http-stream":{"action":"x"}}`), "want send, hint, close or refresh"},
		{item(`{"channel":"a","http-stream":{"content":"","content-filters":["x"]}}`),
			"http-stream.content-filters[0]: \"x\": there is no such filter; the filters are skip-self"},
		{item(`{"channel":"a","http-stream":{"content":"","content-filters":["skip-self"]}}`),
			"it changes no content"},
		{item(`{"channel":"a","http-response":{"action":"close"}}`), "a response ends by itself"},
		{item(`{"channel":"a","http-response":{"body-patch":[]}}`), "not supported; send the whole body"},
		{item(`{"channel":"a","http-response":{"code":"x"}}`), "want a number from 200 to 999"},
		{item(`{"channel":"a","ws-message":{}}`), "want content, content-bin or an action"},
		{item(`{"channel":"a","ws-message":{"type":"x"}}`), "want text, binary, ping or pong"},
		{item(`{"channel":"a","ws-message":{"type":"text","content-bin":"/w=="}}`), "has to be UTF-8"},
		{item(`{"channel":"a","ws-message":{"type":"ping","content":"` +
			strings.Repeat("a", 126) + `"}}`),
			"126 bytes in a ping, at most 125"},
		{item(`{"channel":"a","ws-message":{"action":"close","code":1005}}`), "code does not travel"},
		{item(`{"channel":"a","ws-message":{"action":"close","reason":"` +
			strings.Repeat("a", 124) + `"}}`), "124 bytes, at most 123"},
	} {
		items, err := ParseItems([]byte(tc.body), checkName)
		var field *FieldError
		if items != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("ParseItems(%.90s) = %v, %v, want an error with %q", tc.body, items, err, tc.want)
		} else if !errors.As(err, &field) {
			t.Errorf("ParseItems(%.90s) = %T, want a FieldError", tc.body, err)
		}
	}
}

// fullItem has something everywhere.
func fullItem() *Item {
	return &Item{
		Channel: "events-a", ID: "5", PrevID: "4", NoSeq: true,
		Meta:   Meta{{"sender", "x"}, {"skip_users", "a,b"}},
		Stream: &Stream{Content: []byte("data: x\n\n"), Filters: Filters{BuildID, VarSubst}},
		Response: &Response{Code: 404, Reason: "No", Fields: []Pair{{"A", "b"}, {"A", "c"}},
			Body: []byte("body"), Filters: Filters{}},
		Message: &Message{Action: Close, Type: Pong, Content: []byte{0, 255}, Code: 4999, Reason: "bye"},
	}
}

func TestItemCodec(t *testing.T) {
	none := []byte{}
	for _, it := range []*Item{
		fullItem(),
		{Channel: "a"},
		{Channel: "a", Stream: &Stream{Action: Close, Content: none}},
		{Channel: "a", Response: &Response{Action: Hint, Body: none}},
		{Channel: "a", Message: &Message{Type: Binary, Content: bytes.Repeat([]byte("x"), 300)}},
	} {
		encoded := AppendItem([]byte("head"), it)
		got, err := ParseItem(encoded[len("head"):])
		if err != nil || !reflect.DeepEqual(&got, it) {
			t.Errorf("ParseItem(AppendItem(%+v)) = %+v, %v", it, got, err)
		}
	}
}

// Every byte counts: an encoding that is cut, longer, or not the shortest is none.
func TestItemCodecRefuses(t *testing.T) {
	encoded := AppendItem(nil, fullItem())
	for n := range encoded {
		if _, err := ParseItem(encoded[:n]); !errors.Is(err, errItem) {
			t.Errorf("ParseItem(%d of %d bytes) = %v, want errItem", n, len(encoded), err)
		}
	}
	least := AppendItem(nil, &Item{Channel: "a"})
	for _, bad := range []struct {
		what string
		b    []byte
	}{
		{"a byte too many", append(bytes.Clone(least), 0)},
		{"another version", append([]byte{2}, least[1:]...)},
		{"version 0", append([]byte{0}, least[1:]...)},
		{"an unknown flag", append([]byte{1, 0x10}, least[2:]...)},
		{"a long varint", append([]byte{1, 0, 0x81, 0x00}, least[3:]...)},
		{"a varint without end", append([]byte{1, 0}, bytes.Repeat([]byte{0xff}, 10)...)},
		{"more pairs than bytes", []byte{1, 0, 1, 'a', 0, 0, 0xff, 0x7f}},
		{"an unknown action", []byte{1, flagStream, 1, 'a', 0, 0, 0, 4, 0, 0}},
		{"an unknown filter", []byte{1, flagStream, 1, 'a', 0, 0, 0, 0, 2, 6, 0}},
		{"filter 0", []byte{1, flagStream, 1, 'a', 0, 0, 0, 0, 2, 0, 0}},
		{"too many filters", []byte{1, flagStream, 1, 'a', 0, 0, 0, 0, 7, 1, 1, 1, 1, 1, 1, 0}},
		{"an unknown type", []byte{1, flagMessage, 1, 'a', 0, 0, 0, 0, 0, 4, 0, 0, 0}},
	} {
		if it, err := ParseItem(bad.b); !errors.Is(err, errItem) {
			t.Errorf("ParseItem of %s = %+v, %v, want errItem", bad.what, it, err)
		}
	}
}

func FuzzParseItem(f *testing.F) {
	f.Add(AppendItem(nil, fullItem()))
	f.Add(AppendItem(nil, &Item{Channel: "a", Stream: &Stream{Content: []byte("x")}}))
	f.Add([]byte{1, 0, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		it, err := ParseItem(b)
		if err != nil {
			return
		}
		if again := AppendItem(nil, &it); !bytes.Equal(again, b) {
			t.Fatalf("AppendItem(ParseItem(%x)) = %x", b, again)
		}
	})
}

func FuzzParseItems(f *testing.F) {
	f.Add([]byte(`{"items":[{"id":"5","prev-id":"4","channel":"a","meta":{"a":"b"},"http-stream":` +
		`{"content-filters":["build-id"],"content":"x"}}]}`))
	f.Add([]byte(`{"items":[{"channel":"a","formats":{"http-response":{"code":200,` +
		`"headers":[["a","b"]],"body-bin":"aGk="},"ws-message":{"action":"close","code":1000}}}]}`))
	f.Add([]byte(`{"items":[{"channel":"\u0001","http-stream":{"action":"hint"}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		items, err := ParseItems(body, checkName)
		if err != nil {
			return
		}
		for i := range items {
			if checkName(items[i].Channel) != nil {
				t.Fatalf("ParseItems(%q): channel %q", body, items[i].Channel)
			}
			encoded := AppendItem(nil, &items[i])
			back, err := ParseItem(encoded)
			if err != nil || !bytes.Equal(AppendItem(nil, &back), encoded) {
				t.Fatalf("ParseItem(AppendItem(%+v)) = %+v, %v", items[i], back, err)
			}
		}
	})
}

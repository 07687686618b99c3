// SPDX-License-Identifier: MIT

package grip

import (
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"
)

var errReserved = errors.New("the name is reserved")

// checkName refuses what the bus would refuse.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("it is empty")
	case name[0] == '\x01':
		return errReserved
	}
	return nil
}

// fields makes an iterator of lines "name: value".
func fields(lines string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for line := range strings.Lines(lines) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			if !yield(name, value) {
				return
			}
		}
	}
}

const longPoll = "Grip-Hold: response\nGrip-Channel: a\n"

func TestParseInstruct(t *testing.T) {
	stream := func(c ...Channel) *Instruct {
		return &Instruct{Hold: HoldStream, Channels: c, Timeout: DefaultTimeout}
	}
	response := func(change func(*Instruct)) *Instruct {
		in := &Instruct{Hold: HoldResponse, Channels: []Channel{{Name: "a"}}, Timeout: DefaultTimeout}
		change(in)
		return in
	}
	short := func(in *Instruct) *Instruct { in.Short = true; return in }
	keep := func(content string, timeout time.Duration, interval bool) *Instruct {
		return response(func(in *Instruct) {
			in.KeepAlive = KeepAlive{[]byte(content), timeout, interval}
		})
	}
	a := Channel{Name: "a"}
	for _, tc := range []struct {
		name, fields string
		want         *Instruct
	}{
		{"nothing", "Content-Type: text/plain\nX-Grip-Hold: stream\n", nil},
		{"stream", "Grip-Hold: stream\nGrip-Channel: a\n", stream(a)},
		{"names in any case", "gRIP-hold: stream\nGRIP-CHANNEL:  a \n", stream(a)},
		{"several channels", "Grip-Hold: stream\nGrip-Channel: a,b\nGrip-Channel: c d ,e=f\n",
			stream(a, Channel{Name: "b"}, Channel{Name: "c d"}, Channel{Name: "e=f"})},
		{"filters", "Grip-Hold: stream\n" +
			"Grip-Channel: a; filter=skip-users; filter=require-sub, b;filter = \"skip-self\"\n",
			stream(Channel{Name: "a", Filters: Filters{SkipUsers, RequireSub}},
				Channel{Name: "b", Filters: Filters{SkipSelf}})},
		{"short", "M0-Hold: stream\nM0-Channel: a\n", short(stream(a))},
		{"short, the channel alone", "m0-channel: a\n", short(stream(a))},
		{"short, long poll", "M0-Channel: a\nM0-Hold: response\n", short(response(func(*Instruct) {}))},
		{"both spellings", "Grip-Hold: response\nM0-Channel: a\n",
			short(response(func(*Instruct) {}))},
		{"a channel without a hold is no hold", "Grip-Channel: a\n",
			&Instruct{Channels: []Channel{a}, Timeout: DefaultTimeout}},
		{"timeout", longPoll + "Grip-Timeout: 7\n",
			response(func(in *Instruct) { in.Timeout = 7 * time.Second })},
		{"timeout has a floor", longPoll + "Grip-Timeout: 0\n",
			response(func(in *Instruct) { in.Timeout = 5 * time.Second })},
		{"keep-alive", longPoll + "Grip-Keep-Alive: a, b\n", keep("a, b", 55*time.Second, false)},
		{"keep-alive as eventstream has it", longPoll +
			`Grip-Keep-Alive: event: keep-alive\ndata:\n\n; format=cstring; timeout=20` + "\n",
			keep("event: keep-alive\ndata:\n\n", 20*time.Second, false)},
		{"keep-alive escapes", longPoll + `Grip-Keep-Alive: \\\r\n\x3b\xFF; format=cstring` + "\n",
			keep("\\\r\n;\xff", 55*time.Second, false)},
		{"keep-alive in base64, by interval", longPoll +
			"Grip-Keep-Alive: Og==; format=base64; mode=interval; timeout=0\n",
			keep(":", time.Second, true)},
		{"meta", longPoll + `Grip-Set-Meta: user="a \"b\", c", id_format="%(x)s"` + "\n" +
			"Grip-Set-Meta: user=d\n",
			response(func(in *Instruct) { in.Meta = Meta{{"user", "d"}, {"id_format", "%(x)s"}} })},
		{"links", longPoll + "Grip-Link: </n?a,b;c>; rel=next; timeout=9, </g>; rel=\"gone\"\n",
			response(func(in *Instruct) { in.Next, in.Gone = Link{"/n?a,b;c", 9 * time.Second}, "/g" })},
		{"a link alone", "Grip-Link: <n>; rel=next\nGrip-Link: </x>\nGrip-Link: </y>; rel=prev\n",
			&Instruct{Next: Link{"n", 2 * time.Minute}, Timeout: DefaultTimeout}},
		{"a stream that only asks", "Grip-Hold: stream\nGrip-Link: <n>; rel=next; timeout=1\n",
			&Instruct{Hold: HoldStream, Next: Link{"n", time.Second}, Timeout: DefaultTimeout}},
		{"reliable", "Grip-Hold: stream\nGrip-Channel: a; prev-id=5\nGrip-Link: <n>; rel=next\n",
			&Instruct{Hold: HoldStream, Channels: []Channel{{Name: "a", PrevID: "5"}},
				Next: Link{"n", 2 * time.Minute}, Timeout: DefaultTimeout}},
		{"prev-id of a long poll", "Grip-Hold: response\nGrip-Channel: a; prev-id=\"x;y\"\n",
			response(func(in *Instruct) { in.Channels[0].PrevID = "x;y" })},
		{"status", longPoll + "Grip-Status: 304\n", response(func(in *Instruct) { in.Status = 304 })},
		{"status with reason", longPoll + "Grip-Status: 404 Not Here\n",
			response(func(in *Instruct) { in.Status, in.Reason = 404, "Not Here" })},
		{"exposed", longPoll + "Grip-Expose-Headers: ETag, X-A\nGrip-Expose-Headers: X-B\n",
			response(func(in *Instruct) { in.Expose = []string{"ETag", "X-A", "X-B"} })},
		{"instruct in the body", "Content-Type: Application/Grip-Instruct; charset=utf-8\n",
			&Instruct{JSON: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseInstruct(fields(tc.fields), checkName)
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("ParseInstruct(%q) = %+v, %v, want %+v", tc.fields, got, err, tc.want)
			}
		})
	}
}

// An error says which field, what it says, and what would be right.
func TestParseInstructRefuses(t *testing.T) {
	for _, tc := range []struct{ fields, want string }{
		{"Grip-Hold: streem\nGrip-Channel: a\n", `Grip-Hold: "streem": want stream or response`},
		{"M0-Hold: \nM0-Channel: a\n", `M0-Hold: want stream or response`},
		{"Grip-Hold: stream\nM0-Hold: stream\n", "M0-Hold: the field may be there once"},
		{"Grip-Hold: stream\n", `Grip-Hold: "stream": nothing would ever arrive`},
		{"Grip-Channel: \n", "Grip-Channel: it is empty"},
		{"Grip-Channel: a,,b\n", "Grip-Channel: it is empty"},
		{"Grip-Channel: a, \x01b\n", `Grip-Channel: "\x01b": the name is reserved`},
		{"M0-Channel: \x01b\n", `M0-Channel: "\x01b": the name is reserved`},
		{"Grip-Channel: a; filter=skip\n", `Grip-Channel: "skip": there is no such filter; ` +
			"the filters are skip-self, skip-users, require-sub, build-id, var-subst"},
		{"Grip-Channel: a" + strings.Repeat("; filter=skip-self", 6) + "\n", "6 filters, at most 5"},
		{"Grip-Channel: a" + strings.Repeat(", a", 20) + "\n", "at most 20 channels"},
		{"Grip-Channel: a; previous=5\n", `"previous": a channel takes prev-id and filter`},
		{"Grip-Channel: a; prev-id=\"5\n", "a quote is not closed"},
		{"Grip-Channel: a; prev-id=\"5\"6\n", "something stands behind a closing quote"},
		{"Grip-Hold: stream\nGrip-Channel: a; prev-id=5\n", "needs Grip-Link: <uri>; rel=next"},
		{"Grip-Hold: stream\nGrip-Channel: a; filter=build-id\n", "build-id needs Grip-Set-Meta"},
		{"Grip-Timeout: -1\n", `Grip-Timeout: "-1": want whole seconds, 0 to 2147483647`},
		{"Grip-Timeout: 5s\n", `Grip-Timeout: "5s": want whole seconds`},
		{"Grip-Timeout: 2147483648\n", "want whole seconds"},
		{"Grip-Keep-Alive: ; timeout=5\n", "there is nothing to send"},
		{"Grip-Keep-Alive: a; b; timeout=5\n", `Grip-Keep-Alive: "b": it takes format,`},
		{"Grip-Keep-Alive: a; format=hex\n", "want format=raw, cstring or base64"},
		{"Grip-Keep-Alive: a; timeout=x\n", `Grip-Keep-Alive timeout: "x": want whole seconds`},
		{"Grip-Keep-Alive: a; mode=x\n", `Grip-Keep-Alive mode: "x": want idle or interval`},
		{`Grip-Keep-Alive: \d; format=cstring` + "\n", `knows the escapes \\ \r \n \xHH`},
		{`Grip-Keep-Alive: \xg0; format=cstring` + "\n", `\x wants two hex digits`},
		{`Grip-Keep-Alive: a\; format=cstring` + "\n", "knows the escapes"},
		{"Grip-Keep-Alive: ?; format=base64\n", "the data is not base64"},
		{"Grip-Set-Meta: user\n", `want name="value", name="value"`},
		{"Grip-Set-Meta: \n", `want name="value"`},
		{"Grip-Set-Meta: a=\"b\n", "a quote is not closed"},
		{"Grip-Link: /next; rel=next\n", `Grip-Link: "/next": want <uri>; rel=next`},
		{"Grip-Link: <>; rel=next\n", "want <uri>; rel=next"},
		{"Grip-Link: </n>; rel=next; timeout=x\n", `Grip-Link timeout: "x": want whole seconds`},
		{"Grip-Status: 99\n", `Grip-Status: "99": want a status from 200 to 999`},
		{"Grip-Status: 103\n", "want a status from 200 to 999"},
		{"Grip-Status: 1000\n", "want a status from 200 to 999"},
		{"Grip-Status: abc\n", "want a status from 200 to 999"},
		{"Grip-Expose-Headers: a b\n", "want names of header fields"},
	} {
		in, err := ParseInstruct(fields(tc.fields), checkName)
		var field *FieldError
		if in != nil && err == nil || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("ParseInstruct(%q) = %v, want an error with %q", tc.fields, err, tc.want)
		} else if !errors.As(err, &field) {
			t.Errorf("ParseInstruct(%q) = %T, want a FieldError", tc.fields, err)
		}
	}
	_, err := ParseInstruct(fields("Grip-Channel: \x01b\n"), checkName)
	if !errors.Is(err, errReserved) {
		t.Errorf("ParseInstruct of a reserved name = %v, want the error of the check", err)
	}
}

func TestAddJSON(t *testing.T) {
	in, err := ParseInstruct(fields("Content-Type: application/grip-instruct\n"+
		"Grip-Channel: a\nGrip-Set-Meta: user=x\n"), checkName)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"hold": {"mode": "stream", "timeout": 2, "meta": {"user": "y", "id_format": "z"},
		"channels": [{"name": "b", "prev-id": null, "filters": ["build-id"]}],
		"keep-alive": {"content-bin": "Cg==", "timeout": 30, "mode": "interval"}},
		"response": {"code": 201, "reason": "Made", "headers": [["A", "b"], ["A", "c"]],
		"body": "hi"}}`
	if err := in.AddJSON(200, []byte(body), checkName); err != nil {
		t.Fatalf("AddJSON(%s) = %v", body, err)
	}
	want := &Instruct{
		Hold: HoldStream, JSON: true, Timeout: minTimeout,
		Channels:  []Channel{{Name: "a"}, {Name: "b", Filters: Filters{BuildID}}},
		KeepAlive: KeepAlive{[]byte("\n"), 30 * time.Second, true},
		Meta:      Meta{{"user", "y"}, {"id_format", "z"}},
		Response: &Response{Code: 201, Reason: "Made", Body: []byte("hi"),
			Fields: []Pair{{"A", "b"}, {"A", "c"}}},
	}
	if !reflect.DeepEqual(in, want) {
		t.Errorf("AddJSON(%s): %+v, want %+v", body, in, want)
	}

	plain := &Instruct{JSON: true}
	least := []byte(`{"hold":{"channels":[{"name":"a"}]}}`)
	if err := plain.AddJSON(200, least, checkName); err != nil {
		t.Fatalf("AddJSON of the least = %v", err)
	}
	if plain.Hold != HoldResponse || plain.Timeout != DefaultTimeout || plain.Response.Code != 200 {
		t.Errorf("AddJSON of the least: %+v, want a response hold of 55 s, status 200", plain)
	}
}

func TestAddJSONRefuses(t *testing.T) {
	for _, tc := range []struct {
		status     int
		body, want string
	}{
		{404, `{}`, "the status has to be 200"},
		{200, strings.Repeat(" ", MaxInstructBytes+1), "100001 bytes, at most 100000"},
		{200, `[]`, "body: \"[]\": want a JSON object"},
		{200, `{`, "want a JSON object"},
		{200, `{"hold":3}`, `hold: "3": want a JSON object`},
		{200, `{"hold":{}}`, "hold.channels: want a list of channels"},
		{200, `{"hold":{"channels":[]}}`, "nothing would ever arrive"},
		{200, `{"hold":{"channels":["a"]}}`, `hold.channels[0]: "\"a\"": want a JSON object`},
		{200, `{"hold":{"channels":[{"name":"\u0001a"}]}}`, `hold.channels[0]: "\x01a": the name is`},
		{200, `{"hold":{"channels":[{"name":7}]}}`, `hold.channels[0].name: "7": want a string`},
		{200, `{"hold":{"channels":[{"name":"a","filters":["x"]}]}}`, "filters are skip-self"},
		{200, `{"hold":{"mode":"x","channels":[]}}`, `hold.mode: "x": want stream or response`},
		{200, `{"hold":{"channels":[],"timeout":-1}}`, "want a number from 0 to 2147483647"},
		{200, `{"hold":{"channels":[],"meta":{"a":1}}}`, `hold.meta.a: "1": want a string`},
		{200, `{"response":{"code":99}}`, "response.code: \"99\": want a number from 200 to 999"},
		{200, `{"response":{"headers":{"a b":"c"}}}`, "this is no header field"},
		{200, `{"response":{"headers":{"a":"b\r\nc"}}}`, "this is no header field"},
		{200, `{"response":{"headers":[["a"]]}}`, "response.headers[0]"},
		{200, `{"response":{"reason":"a\nb"}}`, "want one line"},
	} {
		in := &Instruct{JSON: true}
		err := in.AddJSON(tc.status, []byte(tc.body), checkName)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("AddJSON(%d, %.80s) = %v, want an error with %q", tc.status, tc.body, err, tc.want)
		}
	}
}

func TestIsField(t *testing.T) {
	for name, want := range map[string]bool{
		"Grip-Hold": true, "grip-": true, "GRIP-X": true, "M0-Channel": true, "m0-x": true, "M0-": true,
		"Grip": false, "Grips-Hold": false, "M1-Hold": false, "M": false, "": false,
		"Content-Type": false, "X-Grip-Hold": false,
	} {
		if got := IsField(name); got != want {
			t.Errorf("IsField(%q) = %v, want %v", name, got, want)
		}
		if got := IsField([]byte(name)); got != want {
			t.Errorf("IsField([]byte(%q)) = %v, want %v", name, got, want)
		}
	}
}

func TestExposes(t *testing.T) {
	all, some := &Instruct{}, &Instruct{Expose: []string{"ETag"}}
	if !all.Exposes("X-A") || all.Exposes("Grip-Hold") || all.Exposes("m0-hold") {
		t.Error("Exposes without a list: want all but the fields of GRIP")
	}
	if !some.Exposes("etag") || some.Exposes("X-A") || some.Exposes("Grip-Hold") {
		t.Error("Exposes with ETag listed: want ETag alone")
	}
}

func FuzzParseInstruct(f *testing.F) {
	f.Add("Grip-Hold: stream\nGrip-Channel: a; prev-id=5; filter=build-id, b\n" +
		"Grip-Link: </n>; rel=next; timeout=9\nGrip-Set-Meta: id_format=\"%(a)s\"\n")
	f.Add("M0-Channel: a\nGrip-Keep-Alive: a\\n\\x3b; format=cstring; timeout=20\n")
	f.Add("Content-Type: application/grip-instruct\nGrip-Status: 304 x\nGrip-Timeout: 1\n")
	f.Add("Grip-Channel: a; prev-id=\"\\\nGrip-Link: <\nGrip-Expose-Headers: ,a\n")
	f.Fuzz(func(t *testing.T, lines string) {
		in, err := ParseInstruct(fields(lines), checkName)
		if err != nil || in == nil {
			return
		}
		if len(in.Channels) > MaxChannels || len(in.Meta) > MaxMeta {
			t.Fatalf("ParseInstruct(%q): more than is allowed: %+v", lines, in)
		}
		for _, c := range in.Channels {
			if checkName(c.Name) != nil || len(c.Filters) > MaxFilters {
				t.Fatalf("ParseInstruct(%q): channel %+v", lines, c)
			}
		}
		if in.Hold == HoldStream && len(in.Channels) == 0 && in.Next.URI == "" {
			t.Fatalf("ParseInstruct(%q): a stream of nothing", lines)
		}
	})
}

func FuzzAddJSON(f *testing.F) {
	f.Add([]byte(`{"hold":{"mode":"stream","channels":[{"name":"a","filters":["skip-self"]}],` +
		`"keep-alive":{"content":"x","timeout":1},"meta":{"a":"b"}},` +
		`"response":{"code":200,"headers":{"a":"b"},"body-bin":"aGk="}}`))
	f.Add([]byte(`{"hold":{"channels":[{"name":"\u0001"}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		in := &Instruct{JSON: true}
		if in.AddJSON(200, body, checkName) != nil {
			return
		}
		for _, c := range in.Channels {
			if checkName(c.Name) != nil {
				t.Fatalf("AddJSON(%q): channel %q", body, c.Name)
			}
		}
		if in.Response == nil || in.Response.Action == Send && in.Response.Code < 200 {
			t.Fatalf("AddJSON(%q): response %+v", body, in.Response)
		}
	})
}

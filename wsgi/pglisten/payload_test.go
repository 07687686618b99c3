// SPDX-License-Identifier: MIT

package pglisten

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	for _, tc := range []struct {
		payload string
		want    message
	}{
		{`{"channel":"a","event":"e","data":"d"}`, message{"a", "e", "d"}},
		{` { "data" : "d" , "channel" : "a" } `, message{"a", "", "d"}},
		{`{"channel":"a","event":"","data":""}`, message{"a", "", ""}},
		{`{"channel":"a"}`, message{channel: "a"}},
		{`{"channel":"\u00fc","data":"\"\u0000\n\ud83d\ude00%:?'\\"}`,
			message{channel: "ü", data: "\"\x00\n😀%:?'\\"}},
		{`{"channel":"a","data":"{\"id\": 1}"}`, message{channel: "a", data: `{"id": 1}`}},
	} {
		if got, why := decode(tc.payload); got != tc.want || why.cause != accepted {
			t.Errorf("decode(%s) = %q, %+v, want %q", tc.payload, got, why, tc.want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, tc := range []struct {
		payload string
		want    cause
		reason  string
	}{
		{``, malformed, "not JSON"},
		{`hello`, malformed, "not JSON"},
		{`{"channel":"a"`, malformed, "not JSON"},
		{`{"channel":"a"} x`, malformed, "not JSON"},
		{`{"channel":"a"}{"channel":"b"}`, malformed, "not JSON"},
		{`{'channel':'a'}`, malformed, "not JSON"},
		{"{\"channel\":\"a\",\"data\":\"\xff\"}", malformed, "not JSON"},
		{`"a"`, malformed, "no JSON object"},
		{`["a","b","c"]`, malformed, "no JSON object"},
		{`null`, malformed, "no JSON object"},
		{`{}`, malformed, "there is no channel"},
		{`{"event":"e","data":"d"}`, malformed, "there is no channel"},
		{`{"Channel":"a"}`, malformed, `no field "Channel"`},
		{`{"channel":"a","evnt":"e"}`, malformed, `no field "evnt"`},
		{`{"channel":"a","id":"7"}`, malformed, `no field "id"`},
		{`{"channel":"a","channel":"b"}`, malformed, "channel is there twice"},
		{`{"channel":"a","data":"x","data":"y"}`, malformed, "data is there twice"},
		{`{"id":1,"title":"x"}`, malformed, `no field "id"`}, // row_to_json(NEW)::text
		{`{"channel":"a","data":{"id":1,"title":"x"}}`, notText, "data is an object"},
		{`{"channel":"a","data":[1]}`, notText, "data is an array"},
		{`{"channel":"a","data":7}`, notText, "data is a number"},
		{`{"channel":"a","data":null}`, notText, "data is null"},
		{`{"channel":"a","event":true}`, notText, "event is true or false"},
		{`{"channel":1}`, notText, "channel is a number"},
		{`{"channel":"\u0001a"}`, reserved, "reserved"},
		{"{\"channel\":\"\\u0001\",\"data\":\"x\"}", reserved, "reserved"},
		{`{"channel":""}`, badName, "empty"},
		{`{"channel":"a\nb"}`, badName, "control byte"},
		{`{"channel":"` + long(513) + `"}`, badName, "513 bytes"},
		{`{"channel":"a","event":"a\nb"}`, badName, "control byte"},
		{`{"channel":"a","event":"` + long(256) + `"}`, badName, "256 bytes"},
	} {
		_, why := decode(tc.payload)
		if why.cause != tc.want || !strings.Contains(why.reason, tc.reason) || why.cure == "" {
			t.Errorf("decode(%.80s) = %+v, want cause %d, %q and a cure",
				tc.payload, why, tc.want, tc.reason)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"channel":"a","event":"e","data":"d"}`, `{"channel":1}`,
		`{"channel":"a","data":{"id":[1,{}]}}`, `{"channel":"\u0001"}`, `[`, `{"channel":"a"}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		m, why := decode(payload)
		if why.cause != accepted {
			if why.reason == "" || why.cure == "" {
				t.Errorf("decode(%q) = %+v, want a reason and a cure", payload, why)
			}
			return
		}
		var fields map[string]string // the standard library's opinion
		if err := json.Unmarshal([]byte(payload), &fields); err != nil {
			t.Fatalf("decode(%q) took what encoding/json refuses: %v", payload, err)
		}
		if want := (message{fields["channel"], fields["event"], fields["data"]}); m != want {
			t.Errorf("decode(%q) = %q, want %q", payload, m, want)
		}
		if m.channel == "" || m.channel[0] == 1 {
			t.Errorf("decode(%q) took channel %q", payload, m.channel)
		}
	})
}

// m0pub.notify_sql notifies the channel that is listened to.
func TestPublisherNotifiesOurChannel(t *testing.T) {
	source, err := os.ReadFile("../python/m0pub/_sql.py")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^PG_CHANNEL = "(.*?)"`).FindSubmatch(source)
	if m == nil || string(m[1]) != Channel {
		t.Errorf("PG_CHANNEL of m0pub is %q, want %q", m, Channel)
	}
}

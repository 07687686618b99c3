// SPDX-License-Identifier: MIT

package field

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

var sample = strings.ReplaceAll(` { "s" : "text" , "e": "", "n":null,"i":-42,"f":1.5e3,
	"t":true,"b":false,
	"esc":"a\"b\\c\/\b\f\n\r\t\u00e9\ud83d\ude00", "bad":"\ud83d \udc00x", "raw":"\xff",
	"o":{"k":[10,{"deep":"x"},[]],"":7}, "dup":1, "dup":"two", "\u0064up2":3, "é":4,
	"big":9223372036854775808, "huge":1e400, "int":1.0, "o2":{"k":1}, "o2":{"j":2} } `,
	`\xff`, "\xff")

func TestKinds(t *testing.T) {
	doc := []byte(sample)
	for key, want := range map[string]Kind{
		"s": String, "e": String, "n": Null, "i": Number, "f": Number, "t": Bool, "b": Bool,
		"o": Object, "none": Absent, "S": Absent, "k": Absent, "": Absent,
		"dup2": Number, "é": Number,
	} {
		v, err := Get(doc, key)
		if err != nil || v.Kind() != want || v.Exists() != (want != Absent) {
			t.Errorf("Get(%q) = %v, %v, want %v", key, v.Kind(), err, want)
		}
	}
	if v, err := GetPath(doc); err != nil || v.Kind() != Object {
		t.Errorf("GetPath() = %v, %v, want the whole object", v.Kind(), err)
	}
}

func TestStr(t *testing.T) {
	doc := []byte(sample)
	for _, c := range []struct {
		key, want string
		err       error
	}{
		{"s", "text", nil},
		{"e", "", nil},
		{"esc", "a\"b\\c/\b\f\n\r\té😀", nil},
		{"bad", "\ufffd \ufffdx", nil},
		{"raw", "\ufffd", nil},
		{"dup", "two", nil},
		{"n", "", ErrKind},
		{"i", "", ErrKind},
		{"o", "", ErrKind},
		{"none", "", ErrAbsent},
	} {
		v, err := Get(doc, c.key)
		if err != nil {
			t.Fatalf("Get(%q): %v", c.key, err)
		}
		if got, err := v.Str(); got != c.want || err != c.err {
			t.Errorf("Get(%q).Str() = %q, %v, want %q, %v", c.key, got, err, c.want, c.err)
		}
		if got, err := v.AppendStr([]byte("p:")); string(got) != "p:"+c.want || err != c.err {
			t.Errorf("Get(%q).AppendStr(p:) = %q, %v, want p:%s, %v",
				c.key, got, err, c.want, c.err)
		}
	}
}

func TestNumbersAndBools(t *testing.T) {
	doc := []byte(sample)
	for _, c := range []struct {
		key  string
		i    int64
		iErr error
		f    float64
		fErr error
	}{
		{"i", -42, nil, -42, nil},
		{"f", 0, ErrRange, 1500, nil},
		{"int", 0, ErrRange, 1, nil},
		{"big", 0, ErrRange, 9223372036854775808, nil},
		{"huge", 0, ErrRange, 0, ErrRange},
		{"s", 0, ErrKind, 0, ErrKind},
		{"none", 0, ErrAbsent, 0, ErrAbsent},
	} {
		v, err := Get(doc, c.key)
		if err != nil {
			t.Fatalf("Get(%q): %v", c.key, err)
		}
		if got, err := v.Int64(); got != c.i || err != c.iErr {
			t.Errorf("Get(%q).Int64() = %v, %v, want %v, %v", c.key, got, err, c.i, c.iErr)
		}
		if got, err := v.Float64(); got != c.f || err != c.fErr {
			t.Errorf("Get(%q).Float64() = %v, %v, want %v, %v", c.key, got, err, c.f, c.fErr)
		}
	}
	for _, c := range []struct {
		key  string
		want bool
		err  error
	}{{"t", true, nil}, {"b", false, nil}, {"n", false, ErrKind}, {"none", false, ErrAbsent}} {
		v, err := Get(doc, c.key)
		if err != nil {
			t.Fatalf("Get(%q): %v", c.key, err)
		}
		if got, err := v.Bool(); got != c.want || err != c.err {
			t.Errorf("Get(%q).Bool() = %v, %v, want %v, %v", c.key, got, err, c.want, c.err)
		}
	}
}

func TestPath(t *testing.T) {
	doc := []byte(sample)
	for _, c := range []struct{ path, want string }{
		{"o.k.0", "10"},
		{"o.k.1.deep", `"x"`},
		{"o.k.2", "[]"},
		{"o.k.3", ""},
		{"o.k.2.0", ""},
		{"o.k.00", ""},
		{"o.k.-1", ""},
		{"o.k.", ""},
		{"o.k.9999999999999999999999", ""},
		{"o.", "7"},
		{"o.s", ""},
		{"s.x", ""},
		{"s.0", ""},
		{"o2.j", "2"},
		{"o2.k", ""}, // of the first o2, which the second replaces
	} {
		v, err := GetPath(doc, strings.Split(c.path, ".")...)
		if err != nil || string(v.Raw()) != c.want {
			t.Errorf("GetPath(%q) = %q, %v, want %q", c.path, v.Raw(), err, c.want)
		}
	}
}

func TestKeysAreNotPatterns(t *testing.T) {
	doc := []byte(`{"a":{"b":1},"a.b":2,"*":3,"#":4,"@this":5,"\uff21":6}`)
	for key, want := range map[string]string{
		"a.b": "2", "*": "3", "#": "4", "@this": "5", "\uff21": "6", "[0]": "", "a|b": "", "?": "",
	} {
		if v, err := Get(doc, key); err != nil || string(v.Raw()) != want {
			t.Errorf("Get(%q) = %q, %v, want %q", key, v.Raw(), err, want)
		}
	}
}

func TestFaultsBehindTheField(t *testing.T) {
	for _, c := range []struct {
		doc    string
		code   Code
		offset int
	}{
		{``, BadEnd, 0},
		{`  `, BadEnd, 2},
		{`{"a":1`, BadEnd, 6},
		{`{"a":1,`, BadEnd, 7},
		{`{"a":1,}`, BadObject, 7},
		{`{"a":1 "b"}`, BadObject, 7},
		{`{"a":1,"b"}`, BadObject, 10},
		{`{"a":1,"b":}`, BadValue, 11},
		{`{"a":1}}`, Trailing, 7},
		{`{"a":1} x`, Trailing, 8},
		{`{"a":1,"b":tru}`, BadLiteral, 11},
		{`{"a":1,"b":01}`, BadNumber, 12},
		{`{"a":1,"b":-}`, BadNumber, 12},
		{`{"a":1,"b":1.}`, BadNumber, 13},
		{`{"a":1,"b":1e+}`, BadNumber, 14},
		{`{"a":1,"b":[1 2]}`, BadArray, 14},
		{`{"a":1,"b":"\x"}`, BadString, 13},
		{`{"a":1,"b":"\u00 !"}`, BadString, 14},
		{`{"a":1,"b":"\u+000"}`, BadString, 14},
		{"{\"a\":1,\"b\":\"\n\"}", BadString, 12},
		{`{"a":1,"b":"\u00`, BadEnd, 16},
		{`{"a":1,"b":"`, BadEnd, 12},
		{`{"a":1,"b":"\`, BadEnd, 13},
		{`{1:2}`, BadObject, 1},
		{`{"a"`, BadEnd, 4},
	} {
		_, err := Get([]byte(c.doc), "a")
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Code != c.code || syntax.Offset != c.offset {
			t.Errorf("Get(%q) = %v, want %v at byte %d", c.doc, err, c.code, c.offset)
		}
		if Valid([]byte(c.doc)) {
			t.Errorf("Valid(%q) = true, want false", c.doc)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	doc := []byte(sample)
	dst := make([]byte, 0, 100)
	if got := testing.AllocsPerRun(100, func() {
		for _, key := range []string{"s", "i", "f", "t", "esc", "none"} {
			v, err := Get(doc, key)
			if err != nil {
				panic(err)
			}
			v.AppendStr(dst)
			v.Int64()
			v.Float64()
			v.Bool()
		}
		GetPath(doc, "o", "k", "1", "deep")
		Valid(doc)
	}); got != 0 {
		t.Errorf("look-ups and accessors: %v allocations, want 0", got)
	}
	v, _ := Get(doc, "esc")
	if got := testing.AllocsPerRun(100, func() { v.Str() }); got != 1 {
		t.Errorf("Str: %v allocations, want 1", got)
	}
}

// checkAgainstStd compares every answer about one field with encoding/json.
func checkAgainstStd(t *testing.T, doc []byte, key string) {
	t.Helper()
	valid := json.Valid(doc)
	v, err := Get(doc, key)
	if (err == nil) != valid || Valid(doc) != valid {
		t.Fatalf("Get(%q, %q) error %v, Valid %v, want valid %v", doc, key, err, Valid(doc), valid)
	}
	var fields map[string]json.RawMessage
	if !valid || json.Unmarshal(doc, &fields) != nil {
		if v.Exists() {
			t.Fatalf("Get(%q, %q) found %q in what is no object", doc, key, v.Raw())
		}
		return
	}
	want, ok := fields[key]
	if v.Exists() != ok || !bytes.Equal(v.Raw(), bytes.TrimSpace(want)) {
		t.Fatalf("Get(%q, %q) = %q, want %q, %v", doc, key, v.Raw(), want, ok)
	}
	checkValueAgainstStd(t, v)
}

func checkValueAgainstStd(t *testing.T, v Value) {
	t.Helper()
	switch v.Kind() {
	case String:
		var want string
		if err := json.Unmarshal(v.Raw(), &want); err != nil {
			t.Fatalf("json.Unmarshal(%q): %v", v.Raw(), err)
		}
		if got, err := v.Str(); got != want || err != nil {
			t.Fatalf("%q: Str = %q, %v, want %q", v.Raw(), got, err, want)
		}
	case Number:
		var f float64
		fErr := json.Unmarshal(v.Raw(), &f)
		if got, err := v.Float64(); (err == nil) != (fErr == nil) || err == nil && got != f {
			t.Fatalf("%q: Float64 = %v, %v, want %v, %v", v.Raw(), got, err, f, fErr)
		}
		var i int64
		iErr := json.Unmarshal(v.Raw(), &i)
		if got, err := v.Int64(); (err == nil) != (iErr == nil) || err == nil && got != i {
			t.Fatalf("%q: Int64 = %v, %v, want %v, %v", v.Raw(), got, err, i, iErr)
		}
	}
}

func FuzzGet(f *testing.F) {
	for _, key := range []string{"s", "esc", "dup", "dup2", "é", "o", "none"} {
		f.Add([]byte(sample), key)
	}
	f.Add([]byte(`{"\ufffd":1}`), "\ufffd")
	f.Add([]byte("{\"\xff\":1}"), "\xff")
	f.Add([]byte(`[1,[2]]`), "0")
	f.Add([]byte(`{"a":"\ud800\udc00","a":1e5}`), "a")
	f.Add([]byte("{\"a\":-0}\r\n"), "a")
	f.Fuzz(checkAgainstStd)
}

func TestAgainstEncodingJSON(t *testing.T) {
	doc := []byte(sample)
	for cut := range len(doc) { // every truncation
		checkAgainstStd(t, doc[:cut], "s")
	}
	for at := range doc { // every byte replaced by some that matter
		for _, c := range []byte("\x00 \"\\{}[]:,-0.e\x80\xff") {
			changed := bytes.Clone(doc)
			changed[at] = c
			for _, key := range []string{"s", "dup", "dup2"} {
				checkAgainstStd(t, changed, key)
			}
		}
	}
	for _, n := range []string{
		"9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "-9223372036854775809",
		"18446744073709551616", "92233720368547758070", "922337203685477580700", "-0", "0", "1e2",
	} {
		checkAgainstStd(t, []byte(`{"k":`+n+`}`), "k")
	}
	for n := range 30 { // values of every length, for the word steps
		for _, tail := range []string{"", `\n`, "é", "\xff", `\ud800`} {
			text := strings.Repeat("x", n) + tail
			checkAgainstStd(t, []byte(`{"`+text+`":"`+text+`"}`), text)
			checkAgainstStd(t, []byte(`{"k":"`+text+`"}`), "k")
		}
		checkAgainstStd(t, []byte(`{"k":`+strconv.Itoa(1<<n)+`}`), "k")
	}
}

func TestErrorTexts(t *testing.T) {
	err := error(&SyntaxError{BadNumber, 7})
	if got, want := err.Error(), "field: byte 7: a number is malformed"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if got, want := Code(99).String(), "code 99"; got != want {
		t.Errorf("Code(99) = %q, want %q", got, want)
	}
	if got, want := Kind(99).String(), "kind 99"; got != want {
		t.Errorf("Kind(99) = %q, want %q", got, want)
	}
}

func ExampleGet() {
	doc := []byte(`{"channel":"news","id":7}`)
	v, err := Get(doc, "channel")
	if err != nil {
		fmt.Println("not JSON:", err)
		return
	}
	channel, err := v.Str()
	fmt.Println(channel, err)

	v, _ = Get(doc, "id")
	_, err = v.Str()
	fmt.Println(err)
	// Output:
	// news <nil>
	// field: the value is of another kind
}

func ExampleGetPath() {
	doc := []byte(`{"user":{"tags":["a","b"]}}`)
	v, err := GetPath(doc, "user", "tags", "1")
	fmt.Println(string(v.Raw()), v.Kind(), err)
	// Output: "b" string <nil>
}

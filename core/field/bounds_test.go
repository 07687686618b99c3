// SPDX-License-Identifier: MIT

package field

import (
	"errors"
	"strings"
	"testing"
)

// TestEveryByteWhereItCounts puts each byte where a value begins, where a digit of an
// escape stands, and alone.
func TestEveryByteWhereItCounts(t *testing.T) {
	for c := range 256 {
		b := string([]byte{byte(c)})
		for _, doc := range []string{
			b, `{"k":` + b + `}`, `{"k":[` + b + `]}`, `{"k":1` + b + `}`, `{"k":` + b + `1}`,
			`{"k":"\u000` + b + `"}`, `{"k":"\u` + b + `000"}`, `{"k":"\` + b + `"}`,
		} {
			checkAgainstStd(t, []byte(doc), "k")
		}
	}
}

// TestShortDocuments cuts documents at each byte: what is looked at ahead may not be there.
func TestShortDocuments(t *testing.T) {
	for _, doc := range []string{
		"true", "false", "null", "0", "-1.5e+3", `"\u0000"`, `[{"a":1,"b":2}]`, `[{"a":[],"b":{}}]`,
		`{"k":true}`, `{"k":{"a":true,"b":null}}`, `[{"a":1,"b:"22}]`, `[{"a:"11}]`, `{"k:"11}`, `{"k"1}`,
		`{"é:"1}`, `{"k":"` + strings.Repeat("v", windowBytes) + `"}`,
	} {
		for n := range len(doc) + 1 {
			checkAgainstStd(t, []byte(doc[:n]), "k")
			checkAgainstStd(t, []byte(doc[:n]), "k:")
			checkAgainstStd(t, []byte(doc[:n]), "é:")
		}
	}
}

// TestFaultsInside: what is wrong far inside has its name and its place too.
func TestFaultsInside(t *testing.T) {
	for _, c := range []struct {
		doc    string
		code   Code
		offset int
	}{
		{`[{"a":1 2}]`, BadObject, 8}, {`[{"a":1]]`, BadObject, 7}, {`[[1 2]]`, BadArray, 4},
		{`[[1}]`, BadArray, 3}, {`[{"a":1,"b" 2}]`, BadObject, 12}, {`[{"a":1,2}]`, BadObject, 8},
		{`"\u00zz`, BadString, 3}, {`"\u00z`, BadEnd, 6}, {`["\u00zz`, BadString, 4},
	} {
		_, err := Get([]byte(c.doc), "a")
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Code != c.code || syntax.Offset != c.offset {
			t.Errorf("Get(%q) = %v, want %v at byte %d", c.doc, err, c.code, c.offset)
		}
	}
}

// TestPathToTheDeepest follows a path to the deepest level there may be, and one more.
func TestPathToTheDeepest(t *testing.T) {
	for _, level := range []struct{ opener, closer, step string }{
		{"[", "]", "0"}, {`{"":`, "}", ""},
	} {
		for more := range 2 {
			depth := MaxDepth + more
			doc := strings.Repeat(level.opener, depth) + "7" + strings.Repeat(level.closer, depth)
			path := strings.Split(strings.Repeat(level.step+".", depth), ".")[:depth]
			v, err := GetPath([]byte(doc), path...)
			var syntax *SyntaxError
			switch {
			case more == 0 && (err != nil || string(v.Raw()) != "7"):
				t.Errorf("%d of %q: %q, %v; want 7", depth, level.opener, v.Raw(), err)
			case more > 0 && (!errors.As(err, &syntax) || syntax.Code != TooDeep ||
				syntax.Offset != MaxDepth*len(level.opener)):
				t.Errorf("%d of %q: %v; want it too deep", depth, level.opener, err)
			}
		}
	}
}

func TestParseIndex(t *testing.T) {
	for s, want := range map[string]int{
		"": -1, "0": 0, "9": 9, "12": 12, "10": 10, "00": -1, "012": -1, "1a": -1, "/": -1, ":": -1,
		"123456789": 123456789, "1234567890": -1, "-1": -1, "١": -1,
	} {
		if got := parseIndex(s); got != want {
			t.Errorf("parseIndex(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestCodesHaveNames(t *testing.T) {
	for c := BadValue; c <= Trailing; c++ {
		if s := c.String(); s == "" || strings.HasPrefix(s, "code ") {
			t.Errorf("Code(%d) = %q, want words", c, s)
		}
	}
	for c, want := range map[Code]string{0: "code 0", Trailing + 1: "code 10", 255: "code 255"} {
		if got := c.String(); got != want {
			t.Errorf("Code(%d) = %q, want %q", c, got, want)
		}
	}
}

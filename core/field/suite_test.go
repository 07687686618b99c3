// SPDX-License-Identifier: MIT

package field

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// suiteDir is JSONTestSuite, which stands in a folder beside the repository.
const suiteDir = "../../../shared/corpus/json/test_parsing"

func TestJSONTestSuite(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(suiteDir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Skipf("no JSONTestSuite in %s", suiteDir)
	}
	seen := map[byte]int{}
	for _, file := range files {
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		seen[name[0]]++
		got := Valid(doc)
		if want := json.Valid(doc); got != want {
			t.Errorf("%s: Valid = %v, want %v as encoding/json", name, got, want)
		}
		if got && name[0] == 'n' || !got && name[0] == 'y' {
			t.Errorf("%s: Valid = %v", name, got)
		}
		checkWrapped(t, name, doc)
	}
	if seen['y'] != 95 || seen['n'] != 188 || seen['i'] != 35 {
		t.Errorf("files seen: %d y_, %d n_, %d i_, want 95, 188, 35", seen['y'], seen['n'], seen['i'])
	}
}

// checkWrapped asks for fields before, at and behind a document of the suite.
func checkWrapped(t *testing.T, name string, doc []byte) {
	t.Helper()
	whole := append(append([]byte(`{"a":1,"b":`), doc...), `,"z":true}`...)
	valid := json.Valid(whole) // some bad documents are good in pieces
	for _, key := range []string{"a", "b", "z", "none"} {
		v, err := Get(whole, key)
		if (err == nil) != valid {
			t.Errorf("%s wrapped: Get(%q) error %v, want valid %v", name, key, err, valid)
		}
		if err == nil && key == "b" && !json.Valid(v.Raw()) {
			t.Errorf("%s wrapped: Raw = %q is not JSON", name, v.Raw())
		}
	}
}

func TestDepth(t *testing.T) {
	nest := func(n int, open, inner, shut string) []byte {
		return []byte(strings.Repeat(open, n) + inner + strings.Repeat(shut, n))
	}
	for _, c := range []struct {
		name string
		doc  []byte
		want bool
	}{
		{"arrays at the limit", nest(MaxDepth, "[", "", "]"), true},
		{"arrays above", nest(MaxDepth+1, "[", "", "]"), false},
		{"objects at the limit", nest(MaxDepth, `{"a":`, "1", "}"), true},
		{"objects above", nest(MaxDepth+1, `{"a":`, "1", "}"), false},
		{"mixed, a frame deep", nest(levelsPerFrame/2, `[{"a":`, "[]", "}]"), true},
		{"mixed, over a frame", nest(levelsPerFrame, `[{"a":`, "[{}]", "}, 1]"), true},
		{"mixed up at the frame", nest(levelsPerFrame, `[{"a":`, "[}]", "}]"), false},
	} {
		if got := Valid(c.doc); got != c.want {
			t.Errorf("%s: Valid = %v, want %v", c.name, got, c.want)
		}
		if std := json.Valid(c.doc); std != c.want {
			t.Errorf("%s: json.Valid = %v, want %v", c.name, std, c.want)
		}
		if _, err := GetPath(c.doc, "a", "0", "a"); (err == nil) != c.want {
			t.Errorf("%s: GetPath error = %v, want valid %v", c.name, err, c.want)
		}
	}
	var syntax *SyntaxError
	_, err := Get([]byte(strings.Repeat("[", 100_000)), "a")
	if !errors.As(err, &syntax) || syntax.Code != TooDeep || syntax.Offset != MaxDepth {
		t.Errorf("Get(100,000 brackets) = %v, want TooDeep at %d", err, MaxDepth)
	}
}

// TestLinearTime gives inputs on which a quadratic scan would take hours; the
// bound is far above what a linear one takes on the slowest machine.
func TestLinearTime(t *testing.T) {
	const size, bound = 4 << 20, 30 * time.Second
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	start := time.Now()
	for _, doc := range []string{
		strings.Repeat("[", size),
		strings.Repeat(`{"a":`, size/5),
		"[" + strings.Repeat(deep+",", size/len(deep)) + "1]",
		`"` + strings.Repeat(`\\`, size/2),
		`{"` + strings.Repeat(`\u0061`, size/6) + `":1}`,
		strings.Repeat(" ", size),
		strings.Repeat("1", size),
		`{` + strings.Repeat(`"a":1,`, size/6) + `"a":2}`,
	} {
		Valid([]byte(doc))
		if _, err := Get([]byte(doc), "a"); err != nil && Valid([]byte(doc)) {
			t.Errorf("Get(%.20s…) = %v for a valid document", doc, err)
		}
		if took := time.Since(start); took > bound {
			t.Fatalf("%.20s…: %v gone, want less than %v", doc, took, bound)
		}
	}
}

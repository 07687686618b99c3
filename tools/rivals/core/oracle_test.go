// SPDX-License-Identifier: MIT

package core_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/minio/simdjson-go"

	"m0serve.dev/core/field"
)

// simdjsonTakes tells whether simdjson-go should say of doc what we say. It
// refuses documents that are a bare scalar, and 1e400; it accepts what is no
// hexadecimal digit behind \u, and refuses half a surrogate pair.
func simdjsonTakes(doc []byte) bool {
	top := bytes.TrimLeft(doc, " \t\r\n")
	return len(top) > 0 && (top[0] == '{' || top[0] == '[') &&
		!bytes.Contains(doc, []byte(`\u`)) && !bytes.ContainsAny(doc, "eE")
}

// checkOracle compares verdict and values with simdjson-go.
func checkOracle(t *testing.T, doc []byte) {
	t.Helper()
	if !simdjson.SupportedCPU() || !simdjsonTakes(doc) {
		return
	}
	parsed, err := simdjson.Parse(append([]byte(nil), doc...), nil)
	var d field.Document
	if ours := d.Parse(doc); (ours == nil) != (err == nil) {
		t.Fatalf("Parse(%q) = %v, simdjson-go says %v", doc, ours, err)
	}
	if err != nil {
		return
	}
	it := parsed.Iter()
	it.Advance()
	_, root, err := it.Root(nil)
	if err != nil {
		t.Fatalf("%q: %v", doc, err)
	}
	theirs, err := root.Interface()
	if err != nil {
		return // a number that it does not hold
	}
	var ours any
	if err := json.Unmarshal(d.Path().Raw(), &ours); err != nil {
		t.Fatalf("Parse(%q) took what encoding/json refuses: %v", doc, err)
	}
	a, _ := json.Marshal(ours)
	b, _ := json.Marshal(theirs)
	var again any
	if json.Unmarshal(b, &again) == nil {
		b, _ = json.Marshal(again)
	}
	if !bytes.Equal(a, b) {
		t.Fatalf("%q reads as %s, by simdjson-go as %s", doc, a, b)
	}
}

func TestSimdjsonAgrees(t *testing.T) {
	doc := docOf(600)
	checkOracle(t, doc)
	for i := range doc { // every byte missing, and every byte another
		checkOracle(t, append(append([]byte(nil), doc[:i]...), doc[i+1:]...))
		for _, c := range []byte(`"\{}[],: 0x`) {
			bad := append([]byte(nil), doc...)
			bad[i] = c
			checkOracle(t, bad)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 0))
	parts := []string{"{", "}", "[", "]", ",", ":", `"a"`, `"b\n"`, "1", "-0.5", "true", "null", " "}
	for range 20_000 {
		var b bytes.Buffer
		b.WriteByte("[{"[rnd.IntN(2)])
		for range rnd.IntN(12) {
			fmt.Fprint(&b, parts[rnd.IntN(len(parts))])
		}
		checkOracle(t, b.Bytes())
	}
}

func FuzzSimdjson(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,-3,"x\n",true,null]}`))
	f.Fuzz(func(t *testing.T, doc []byte) { checkOracle(t, doc) })
}

// BenchmarkDocument asks twenty questions about one document, evenly spread over
// it, and simdjson-go the same of its tape.
func BenchmarkDocument(b *testing.B) {
	doc := docOf(100 << 10)
	var paths [][]string
	for i := range 20 {
		paths = append(paths, []string{fmt.Sprintf("field%d", 68*i), "name"})
	}
	b.Run("100K/ours", func(b *testing.B) {
		var d field.Document
		b.ReportAllocs()
		for b.Loop() {
			if err := d.Parse(doc); err != nil {
				b.Fatal(err)
			}
			for _, path := range paths {
				if !d.Path(path...).Exists() {
					b.Fatal(path)
				}
			}
		}
	})
	b.Run("100K/simdjson", func(b *testing.B) {
		var parsed *simdjson.ParsedJson
		var err error
		var e *simdjson.Element
		b.ReportAllocs()
		for b.Loop() {
			if parsed, err = simdjson.Parse(doc, parsed); err != nil {
				b.Fatal(err)
			}
			for _, path := range paths {
				it := parsed.Iter()
				it.AdvanceInto()
				if e, err = it.FindElement(e, path...); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

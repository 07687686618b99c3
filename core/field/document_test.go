// SPDX-License-Identifier: MIT

package field

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkDocument compares a Document with GetPath, errors included.
func checkDocument(t *testing.T, d *Document, doc []byte, paths ...[]string) {
	t.Helper()
	_, want := GetPath(doc)
	err := d.Parse(doc)
	if fmt.Sprint(err) != fmt.Sprint(want) {
		t.Fatalf("Parse(%q) = %v, want %v", doc, err, want)
	}
	for _, path := range paths {
		want, _ := GetPath(doc, path...)
		got := d.Path(path...)
		if got.Kind() != want.Kind() || string(got.Raw()) != string(want.Raw()) {
			t.Fatalf("Parse(%q), Path(%q) = %v %q, want %v %q",
				doc, path, got.Kind(), got.Raw(), want.Kind(), want.Raw())
		}
		if len(path) != 1 {
			continue
		}
		if want, _ = Get(doc, path[0]); string(d.Get(path[0]).Raw()) != string(want.Raw()) {
			t.Fatalf("Parse(%q), Get(%q) = %q, want %q",
				doc, path[0], d.Get(path[0]).Raw(), want.Raw())
		}
	}
}

var documentPaths = [][]string{
	{}, {"a"}, {"s"}, {"none"}, {""}, {"dup"}, {"dup2"}, {"é"}, {"0"}, {"1"}, {"01"}, {"-1"},
	{"o", "k"}, {"o", "k", "1", "deep"}, {"o", "k", "2"}, {"o", "k", "3"}, {"o", ""}, {"s", "0"},
	{"o2", "k"}, {"o2", "j"}, {"a", "0"}, {"a", "b"},
}

func TestDocument(t *testing.T) {
	var d Document
	checkNothing := func() {
		t.Helper()
		if d.Path().Exists() || d.Get("a").Exists() || d.Path("a", "b").Exists() {
			t.Errorf("a Document without a document holds something")
		}
	}
	checkNothing()
	for _, doc := range []string{
		sample, "[]", "{}", "1", `"a"`, `[1,[2,{"a":[3]}],4]`, `{"a":{"b":1},"a":[5]}`, "null",
	} {
		checkDocument(t, &d, []byte(doc), documentPaths...)
	}
	for _, doc := range []string{
		"", " ", `{"a":1`, `{"a":1}}`, `[1 2]`, `{"a" 1}`, `{1:2}`, `{"a":[1,}`, `{"a":tru}`,
		strings.Repeat("[", MaxDepth+1), strings.Repeat(`{"a":`, MaxDepth+1),
	} {
		checkDocument(t, &d, []byte(doc), documentPaths...)
		checkNothing()
	}
}

func TestDocumentSuite(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(suiteDir, "*.json"))
	var d Document
	for _, file := range files {
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkDocument(t, &d, doc, documentPaths...)
	}
	if len(files) == 0 {
		t.Skipf("no JSONTestSuite in %s", suiteDir)
	}
}

func TestDocumentAllocatesOnce(t *testing.T) {
	var d Document
	doc := []byte(sample)
	if got := testing.AllocsPerRun(100, func() {
		if d.Parse(doc) != nil || !d.Path("o", "k").Exists() || !d.Get("s").Exists() {
			panic("the sample is not read")
		}
	}); got != 0 {
		t.Errorf("parsing again: %v allocations, want 0", got)
	}
}

func FuzzDocument(f *testing.F) {
	f.Add([]byte(sample), "o", "k")
	f.Add([]byte(`[[1,2],{"a":3}]`), "1", "a")
	f.Add([]byte(`{"\u0061":{"a":1},"a":{"b":2}}`), "a", "b")
	f.Fuzz(func(t *testing.T, doc []byte, one, two string) {
		var d Document
		checkDocument(t, &d, doc, []string{}, []string{one}, []string{one, two}, []string{two})
	})
}

func ExampleDocument() {
	var d Document
	if err := d.Parse([]byte(`{"user":{"name":"ann","tags":["a","b"]}}`)); err != nil {
		fmt.Println(err)
	}
	fmt.Println(d.Path("user", "name").Str())
	fmt.Println(d.Path("user", "tags", "1").Str())
	// Output:
	// ann <nil>
	// b <nil>
}

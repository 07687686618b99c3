// SPDX-License-Identifier: MIT

// Package corpus reads the corpora of requests for the tests of this module.
// They are shared by several repositories and lie beside this one, in a folder
// shared/corpus; a checkout without them skips the tests that ask for one. Only
// tests import it.
package corpus

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Dir is the folder of a corpus.
func Dir(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "shared", "corpus", name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Skipf("no shared/corpus/%s beside the repository", name)
	return ""
}

// A Case is one line of http1/cases.jsonl; the README there says what it means.
type Case struct {
	ID, Category, Raw, Expect, Prefer string
	Status, Handled, Seq              []int
	Closes                            *bool
	Checks, Methods                   []string
	Steps                             [][]any
	Needs                             string
	BodyLen                           int `json:"body_len"`
	WaitMs                            int `json:"wait_ms"`
}

// HTTP1 reads all cases of http1.
func HTTP1(t testing.TB) []Case {
	t.Helper()
	file, err := os.Open(filepath.Join(Dir(t, "http1"), "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var cases []Case
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c Case
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("cases.jsonl: %v in %.80q", err, lines.Text())
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

// Bytes is all that the client sends, whenever it sends it.
func (c *Case) Bytes() []byte {
	all := Expand(c.Raw)
	for _, step := range c.Steps {
		switch step[0] {
		case "send", "bytes", "drip":
			all = append(all, Expand(step[1].(string))...)
		}
	}
	return all
}

// Expand replaces <<R c n>>, a character n times, and <<T n|text>>, a text n
// times. Each character is one byte. It panics when the corpus is malformed.
func Expand(s string) []byte {
	var out []byte
	for {
		before, rest, found := strings.Cut(s, "<<")
		out = appendLatin1(out, before)
		if !found {
			return out
		}
		macro, after, found := strings.Cut(rest, ">>")
		if !found || len(macro) < 5 {
			panic(fmt.Sprintf("corpus: macro without end or number in %.80q", rest))
		}
		var text, number string
		if macro[0] == 'R' {
			text, number = macro[2:3], macro[4:]
		} else {
			number, text, _ = strings.Cut(macro[2:], "|")
		}
		n, err := strconv.Atoi(number)
		if err != nil {
			panic(fmt.Sprintf("corpus: macro %.40q: %v", macro, err))
		}
		out = appendLatin1(out, strings.Repeat(text, n))
		s = after
	}
}

func appendLatin1(dst []byte, s string) []byte {
	for _, r := range s {
		dst = append(dst, byte(r))
	}
	return dst
}

// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// corpusDir finds a corpus beside the repository; without one the test is skipped.
func corpusDir(t *testing.T, name string) string {
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

// A step is one act of the client.
type step struct {
	do    string // send, bytes, drip, sleep, shutwr, wait100
	data  []byte
	pause int // ms: of sleep and wait100, between the bytes of drip
}

// A scenario is one case: what is sent and what has to come of it.
type scenario struct {
	ID      string
	Expect  string
	Prefer  string
	Status  []int
	Handled []int
	Closes  *bool
	Seq     []int
	Checks  []string
	Methods []string
	BodyLen int `json:"body_len"`
	WaitMs  int `json:"wait_ms"`
	Needs   string

	Raw      string
	RawSteps [][]any `json:"Steps"`
	steps    []step
}

func http1Corpus(t *testing.T) []*scenario {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(corpusDir(t, "http1"), "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []*scenario
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		c := new(scenario)
		if err := json.Unmarshal(lines.Bytes(), c); err != nil {
			t.Fatalf("cases.jsonl: %v in %.80q", err, lines.Text())
		}
		c.steps = readSteps(t, c)
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

func readSteps(t *testing.T, c *scenario) []step {
	if len(c.RawSteps) == 0 {
		return []step{{do: "send", data: expand(t, c.Raw)}}
	}
	var steps []step
	for _, raw := range c.RawSteps {
		s := step{do: raw[0].(string)}
		for _, arg := range raw[1:] {
			switch arg := arg.(type) {
			case string:
				s.data = expand(t, arg)
			case float64:
				s.pause = int(arg)
			}
		}
		steps = append(steps, s)
	}
	return steps
}

// expand replaces the macros <<R c n>> and <<T n|text>>; a character is a byte.
func expand(t *testing.T, s string) []byte {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "<<")
		out.WriteString(before)
		if !found {
			break
		}
		macro, after, _ := strings.Cut(rest, ">>")
		var text, number string
		if macro[0] == 'R' {
			text, number = macro[2:3], macro[4:]
		} else {
			number, text, _ = strings.Cut(macro[2:], "|")
		}
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("macro %.40q: %v", macro, err)
		}
		out.WriteString(strings.Repeat(text, n))
		s = after
	}
	var b []byte
	for _, r := range out.String() {
		b = append(b, byte(r))
	}
	return b
}

// A foreign is one file of gunicorn's parser tests.
type foreign struct {
	Kind, Name, Wire string
	Cfg              map[string]any
	Expect           []struct {
		Method string
		Path   string
		Body   []byte `json:"body_b64"`
	}
	bytes []byte
}

func gunicornCorpus(t *testing.T) []*foreign {
	t.Helper()
	dir := corpusDir(t, "gunicorn")
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []*foreign
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.bytes, err = os.ReadFile(filepath.Join(dir, filepath.FromSlash(c.Wire))); err != nil {
			t.Fatal(err)
		}
		// HTTP/1.1 wants a Host, gunicorn does not. The line in 020 is a counted body.
		const line = " HTTP/1.1\r\n"
		if !bytes.Contains(bytes.ToLower(c.bytes), []byte("\nhost:")) && c.Name != "020" {
			c.bytes = bytes.ReplaceAll(c.bytes, []byte(line), []byte(line+"Host: a\r\n"))
		}
	}
	return cases
}

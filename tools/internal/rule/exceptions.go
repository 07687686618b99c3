// SPDX-License-Identifier: MIT

package rule

import (
	"fmt"
	"strconv"
	"strings"
)

// Exceptions is the list of places where a rule may be broken. Each entry says
// why, and an entry that is no longer needed, or larger than needed, is itself a
// finding: so the list can only shrink.
type Exceptions struct {
	file    string
	limit   int
	entries []exception
	bad     []Finding // lines that cannot be read
}

type exception struct {
	line   int
	rule   string
	key    string // Finding.Key
	size   int    // 0: the rule measures nothing
	reason string
}

// ParseExceptions reads the list. A line is a comment (#), the directive
// "limit N" that bounds the number of entries, or an entry
// "rule key size reason", size being - for rules without a measure.
func ParseExceptions(file string, text []byte) *Exceptions {
	e := &Exceptions{file: file}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := e.parseLine(i+1, line); err != nil {
			e.bad = append(e.bad, e.finding(i+1, err.Error(), ""))
		}
	}
	return e
}

// Apply takes the excepted findings out of found and adds a finding for every
// entry that is stale, too large or without a reason.
func (e *Exceptions) Apply(found []Finding) []Finding {
	left := append([]Finding(nil), e.bad...)
	used := make([]bool, len(e.entries))
	for _, f := range found {
		i := e.match(f)
		if i < 0 {
			left = append(left, f)
			continue
		}
		used[i] = true
		x := e.entries[i]
		switch {
		case f.Size > x.size:
			f.What += fmt.Sprintf("; the exception allows %d", x.size)
			left = append(left, f)
		case f.Size < x.size:
			left = append(left, e.finding(x.line,
				fmt.Sprintf("%s %s allows %d, %d is enough", x.rule, x.key, x.size, f.Size),
				"lower it, the list may only shrink"))
		}
	}
	for i, x := range e.entries {
		if !used[i] {
			left = append(left, e.finding(x.line,
				fmt.Sprintf("%s %s is no longer needed", x.rule, x.key), "remove the line"))
		}
	}
	if len(e.entries) > e.limit {
		left = append(left, e.finding(0,
			fmt.Sprintf("%d entries, the limit is %d", len(e.entries), e.limit),
			"mend the new place instead of excepting it"))
	}
	return left
}

func (e *Exceptions) parseLine(n int, line string) error {
	word := strings.Fields(line)
	if word[0] == "limit" && len(word) == 2 {
		limit, err := strconv.Atoi(word[1])
		if err != nil {
			return fmt.Errorf("limit %q is not a number", word[1])
		}
		e.limit = limit
		return nil
	}
	if len(word) < 4 {
		return fmt.Errorf("%q is not \"rule key size reason\"", line)
	}
	x := exception{line: n, rule: word[0], key: word[1], reason: strings.Join(word[3:], " ")}
	if word[2] != "-" {
		size, err := strconv.Atoi(word[2])
		if err != nil {
			return fmt.Errorf("size %q is neither a number nor -", word[2])
		}
		x.size = size
	}
	e.entries = append(e.entries, x)
	return nil
}

func (e *Exceptions) match(f Finding) int {
	for i, x := range e.entries {
		if x.rule == f.Rule && x.key == f.Key() {
			return i
		}
	}
	return -1
}

func (e *Exceptions) finding(line int, what, cure string) Finding {
	return Finding{Rule: "exceptions", File: e.file, Line: line, What: what, Cure: cure}
}

// SPDX-License-Identifier: MIT

package options

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestComingFromSaysWhatHappens: COMING_FROM.md says of every flag of other servers
// what the table does with it: the same or another name, no effect, or a refusal.
func TestComingFromSaysWhatHappens(t *testing.T) {
	text, err := os.ReadFile("../../COMING_FROM.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| (` + "`-" + `[^|]+) \| ([^|]+) \|$`)
	spelling := regexp.MustCompile("`(--?[a-z0-9_-]+)")
	table, seen := newTable(), 0
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		for _, s := range spelling.FindAllStringSubmatch(m[1], -1) {
			seen++
			if s[1] == "-k" {
				continue // by its value: see TestSpellingsOfOtherServers
			}
			if got := fateOf(table, s[1]); !strings.HasPrefix(m[2], got) {
				t.Errorf("COMING_FROM.md says of %s %q; the table %q", s[1], m[2], got)
			}
		}
	}
	if seen < 70 {
		t.Errorf("vacuous: COMING_FROM.md has %d flags of others; want 70 at least", seen)
	}
}

// fateOf is how the page has to begin what it says of a flag.
func fateOf(table *table, spelling string) string {
	plain := strings.Replace(spelling, "--ssl-", "--", 1) // uvicorn's
	f, _ := table.find(strings.ReplaceAll(plain, "_", "-"))
	switch {
	case f == nil:
		return "unknown"
	case f.name == "user" || f.name == "group":
		return "refused by this version" // by package serve, whose test reads the README
	case f.cure != "":
		return "refused"
	case f.note != "":
		return "no effect"
	case f.name == strings.TrimLeft(spelling, "-") || !strings.HasPrefix(spelling, "--"):
		return "the same"
	}
	return "`--" + f.name + "`"
}

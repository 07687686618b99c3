// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestJudgeAutobahn: each case counts, and one that is not OK is named, whether it went
// wrong in what was said or in how it was closed.
func TestJudgeAutobahn(t *testing.T) {
	report := func(cases ...string) []byte {
		var rows []string
		for i, verdicts := range cases {
			behavior, end, _ := strings.Cut(verdicts, " ")
			rows = append(rows, fmt.Sprintf(`"1.%d": {"behavior": %q, "behaviorClose": %q, "duration": 2}`,
				i, behavior, end))
		}
		return []byte(`{"m0": {` + strings.Join(rows, ",") + `}}`)
	}
	for _, tc := range []struct {
		report []byte
		said   string
		err    string
	}{
		{report("OK OK", "INFORMATIONAL INFORMATIONAL", "OK OK"), "3 cases: 2 OK, 1 informational", ""},
		{report("OK OK", "FAILED OK"), "2 cases: 1 OK, 0 informational, 1 not",
			"autobahn: 1.1 FAILED"},
		{report("OK UNCLEAN", "NON-STRICT OK"), "2 cases: 1 OK, 0 informational, 1 not",
			"autobahn: 1.0 UNCLEAN, 1.1 NON-STRICT"},
		{report("UNIMPLEMENTED OK"), "1 cases: 0 OK, 0 informational, 1 not",
			"autobahn: 1.0 UNIMPLEMENTED"},
		{report(), "0 cases: 0 OK, 0 informational", "autobahn: no case was run"},
	} {
		count, err := judgeAutobahn(tc.report)
		said := count.String()
		if said != tc.said || fmt.Sprint(err) != tc.err && (err != nil || tc.err != "") {
			t.Errorf("judgeAutobahn(%s) = %q, %v; want %q, %q", tc.report, said, err, tc.said, tc.err)
		}
	}
	if _, err := judgeAutobahn([]byte("x")); err == nil {
		t.Error("judgeAutobahn(x) takes it")
	}
}

// TestAutobahnCases: all cases are asked for a group at a time, so that what is broken
// off has verdicts, and none is in two groups.
func TestAutobahnCases(t *testing.T) {
	all, usual := autobahnCases([]string{"*"}), autobahnCases(nil)
	if len(all) != 21 || len(usual) != len(all) {
		t.Errorf("autobahnCases has %d and %d patterns, want 21", len(all), len(usual))
	}
	for i, pattern := range all {
		rest, isGroup := strings.CutSuffix(pattern, ".*")
		if !isGroup || strings.Contains(rest, "*") || slices.Contains(all[:i], pattern) {
			t.Errorf("pattern %d is %q, want a group that was not there", i, pattern)
		}
	}
	if got := autobahnCases([]string{"1.1.1", "9.*"}); !slices.Equal(got, []string{"1.1.1", "9.*"}) {
		t.Errorf("autobahnCases(1.1.1 9.*) = %q", got)
	}
}

// TestAutobahnCountAdds: the groups of an engine are one sum.
func TestAutobahnCountAdds(t *testing.T) {
	sum := autobahnCount{total: 4, ok: 2, informational: 1}
	sum.add(autobahnCount{total: 10, ok: 9, informational: 1})
	if got, want := sum.String(), "14 cases: 11 OK, 2 informational, 1 not"; got != want {
		t.Errorf("the sum is %q, want %q", got, want)
	}
}

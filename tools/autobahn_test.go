// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
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
		{report("OK OK", "FAILED OK"), "2 cases: 1 OK, 0 informational", "autobahn: 1.1 FAILED"},
		{report("OK UNCLEAN", "NON-STRICT OK"), "2 cases: 1 OK, 0 informational",
			"autobahn: 1.0 UNCLEAN, 1.1 NON-STRICT"},
		{report("UNIMPLEMENTED OK"), "1 cases: 0 OK, 0 informational", "autobahn: 1.0 UNIMPLEMENTED"},
		{report(), "0 cases: 0 OK, 0 informational", "autobahn: no case was run"},
	} {
		said, err := judgeAutobahn(tc.report)
		if said != tc.said || fmt.Sprint(err) != tc.err && (err != nil || tc.err != "") {
			t.Errorf("judgeAutobahn(%s) = %q, %v; want %q, %q", tc.report, said, err, tc.said, tc.err)
		}
	}
	if _, err := judgeAutobahn([]byte("x")); err == nil {
		t.Error("judgeAutobahn(x) takes it")
	}
}

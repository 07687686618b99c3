// SPDX-License-Identifier: MIT

package metricstest

import (
	"strings"
	"testing"
)

// A parser of tests is worth what it finds.
func TestParseFinds(t *testing.T) {
	const good = "# TYPE a counter\na_total{w=\"0\"} 1\n" +
		"# TYPE h_seconds histogram\n# UNIT h_seconds seconds\n" +
		"h_seconds_bucket{le=\"1.0\"} 1\nh_seconds_bucket{le=\"+Inf\"} 2\n" +
		"h_seconds_count 2\nh_seconds_sum 1.5\n" +
		"# TYPE i info\ni_info{v=\"1\"} 1\n# EOF\n"
	if _, err := Parse(good); err != nil {
		t.Fatalf("Parse(good): %v", err)
	}
	for _, c := range [][2]string{
		{"# EOF\n", ""}, {"# EOF\n", "# EOF\n\n"}, {"a_total{", "a{"}, {"} 1\n#", "} -1\n#"},
		{`w="0"`, `w="0",w="1"`}, {`w="0"`, `w="0`}, {`w="0"`, `w="\x"`}, {"# TYPE a counter\n", ""},
		{"TYPE a counter", "TYPE a_total counter"}, {"+Inf\"} 2", "+Inf\"} 0"}, {"count 2", "count 3"},
		{"h_seconds_bucket{le=\"+Inf\"} 2\n", ""}, {`"1.0"`, `"1"`},
		{"UNIT h_seconds seconds", "UNIT h_seconds bytes"},
		{"a_total{w=\"0\"} 1\n", "a_total{w=\"0\"} 1\na_total{w=\"0\"} 1\n"}, {"# TYPE h", "\n# TYPE h"},
		{"# EOF", "# TYPE a counter\n# EOF"}, {"h_seconds_sum 1.5", "h_seconds_sum x"},
		{"i_info{", "i{"}, {`{v="1"}`, `{v="1",}`}, {`i_info{v="1"} 1`, `i_info{v="1"} 2`},
	} {
		bad := strings.Replace(good, c[0], c[1], 1)
		if _, err := Parse(bad); err == nil {
			t.Errorf("Parse finds nothing in\n%s", bad)
		}
	}
}

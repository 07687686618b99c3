// SPDX-License-Identifier: MIT

package rule

import (
	"strings"
	"testing"
)

func TestExceptions(t *testing.T) {
	long := Finding{Rule: "func-size", File: "http/a.go", Line: 3, Name: "f", Size: 80, What: "80"}
	tests := []struct {
		name  string
		list  string
		found []Finding
		want  []string // a part of each remaining finding
	}{
		{"no list", "", []Finding{long}, []string{"http/a.go:3: func-size"}},
		{"excepted", "limit 1\nfunc-size http/a.go#f 80 a state table", []Finding{long}, nil},
		{"comment", "# why\nlimit 1\n\nfunc-size http/a.go#f 80 reason", []Finding{long}, nil},
		{"grown", "limit 1\nfunc-size http/a.go#f 79 a table", []Finding{long}, []string{"allows 79"}},
		{"too large", "limit 1\nfunc-size http/a.go#f 90 a table", []Finding{long},
			[]string{"x.txt:2: exceptions: func-size http/a.go#f allows 90, 80 is enough"}},
		{"stale", "limit 1\nfunc-size http/a.go#f 80 a table", nil,
			[]string{"x.txt:2: exceptions: func-size http/a.go#f is no longer needed"}},
		{"other rule", "limit 1\nfile-size http/a.go#f 80 a table", []Finding{long},
			[]string{"func-size", "no longer needed"}},
		{"without reason", "limit 1\nfunc-size http/a.go#f 80", nil, []string{"is not \"rule key"}},
		{"bad size", "limit 1\nfunc-size http/a.go#f many why", nil, []string{"neither a number"}},
		{"over the limit", "limit 0\nfunc-size http/a.go#f 80 a table", []Finding{long},
			[]string{"1 entries, the limit is 0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ParseExceptions("x.txt", []byte(tt.list)).Apply(tt.found)
			if len(got) != len(tt.want) {
				t.Fatalf("Apply = %v, want %d findings", got, len(tt.want))
			}
			for i := range got {
				if !strings.Contains(got[i].String(), tt.want[i]) {
					t.Errorf("finding %d = %q, want part %q", i, got[i], tt.want[i])
				}
			}
		})
	}
}

// SPDX-License-Identifier: MIT

package negotiate_test

import (
	"fmt"
	"strings"
	"testing"

	"m0serve.dev/http/negotiate"
)

// FuzzBest: no text breaks it, lines and commas mean the same, and space and
// empty elements nothing.
func FuzzBest(f *testing.F) {
	f.Add("text/html;q=0.5, */*")
	f.Add(`text/html;a="\",x", application/json;q=0.1`)
	f.Add("\"")
	f.Add(",;=\\")
	kinds := negotiate.NewTypes("text/html;level=1", "application/json", "text/plain")
	f.Fuzz(func(t *testing.T, accept string) {
		want, wantOK := kinds.Best([]string{accept})
		if strings.Count(accept, `"`) == 0 {
			for _, lines := range [][]string{
				strings.Split(accept, ","), {" ,", accept + ",,\t"}, {strings.ReplaceAll(accept, ",", " , ")},
			} {
				if got, ok := kinds.Best(lines); got != want || ok != wantOK {
					t.Errorf("Best(%q) = %q, %v; but of %q it is %q, %v", accept, want, wantOK, lines, got, ok)
				}
			}
		}
		negotiate.Encoding([]string{accept}, "gzip")
		negotiate.Language([]string{accept}, "en-GB", "de")
	})
}

// A wish is one range of FuzzBestLikeModel.
type wish struct {
	family, sub, level int // index into the words; sub and level count from 0, "*" and none
	weight             int
}

var (
	familyWords = []string{"*", "text", "application"}
	subWords    = []string{"*", "html", "json"}
)

func (v wish) String() string {
	s := familyWords[v.family] + "/" + subWords[v.sub]
	if v.level > 0 {
		s += fmt.Sprintf(";level=%d", v.level)
	}
	return s + fmt.Sprintf(";q=0.%d", v.weight)
}

// fits is how many of the four things that a range may say it says and are so.
func (v wish) fits(family, sub, level int) (rank int, ok bool) {
	for _, part := range [][2]int{{v.family, family}, {v.sub, sub}, {v.level, level}} {
		if part[0] == 0 {
			continue
		}
		if part[0] != part[1] {
			return 0, false
		}
		rank++
	}
	return rank, true
}

// FuzzBestLikeModel compares with the rules of RFC 9110 as a table has them.
func FuzzBestLikeModel(f *testing.F) {
	f.Add([]byte{0, 0, 0, 5, 1, 0, 0, 3})
	f.Add([]byte{1, 1, 1, 5, 1, 1, 0, 3, 2, 2, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var wishes []wish
		var texts []string
		for ; len(raw) >= 4 && len(wishes) < 6; raw = raw[4:] {
			v := wish{int(raw[0]) % 3, int(raw[1]) % 3, int(raw[2]) % 3, int(raw[3]) % 10}
			if v.family == 0 {
				v.sub, v.level = 0, 0
			}
			if v.sub == 0 {
				v.level = 0
			}
			wishes, texts = append(wishes, v), append(texts, v.String())
		}
		if len(wishes) == 0 {
			return
		}
		accept := strings.Join(texts, ", ")
		for n := range 12 {
			family, sub, level := 1+n%2, 1+n/2%2, n/4
			compareWithModel(t, wishes, accept, family, sub, level)
		}
	})
}

// compareWithModel looks at one offer.
func compareWithModel(t *testing.T, wishes []wish, accept string, family, sub, level int) {
	weight, best := 0, -1
	for _, v := range wishes {
		rank, ok := v.fits(family, sub, level)
		if ok && (rank > best || rank == best && v.weight > weight) {
			weight, best = v.weight, rank
		}
	}
	offer := familyWords[family] + "/" + subWords[sub]
	if level > 0 {
		offer += fmt.Sprintf(";level=%d", level)
	}
	_, ok := negotiate.NewTypes(offer).Best([]string{accept})
	if ok != (weight > 0) {
		t.Errorf("Best(%q) of %q = %v; the model has weight %d", accept, offer, ok, weight)
	}
}

// SPDX-License-Identifier: MIT

package results

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"m0serve.dev/tools/internal/bench"
)

func runs() []Run {
	return []Run{{Machine: bench.Machine{CPU: "a <CPU>", Cores: 2}, Command: "go run ./tools bench x",
		Figures: []bench.Figure{
			{Bench: "x", Name: "rate | all", Unit: "a second", Ours: 40, Other: 10, Rival: "<r>", Ratio: 2,
				MoreIsBetter: true},
			{Bench: "x", Name: "CPU", Unit: "us", Ours: 20, Other: 10, Rival: "r", Ratio: 0.5},
			{Bench: "y", Name: "CPU", Unit: "us", Ours: 1, Rival: "gone", Ratio: 1, Why: "no compiler"},
		}}}
}

func TestParse(t *testing.T) {
	r, err := Parse([]byte(`{"machine":{"cpu":"c"},"command":"go","figures":[{"name":"a"},
		{"name":"b","bench":"own"}]}`), "file")
	if err != nil || r.Machine.CPU != "c" || strings.Join(Benches([]Run{r}), " ") != "file own" {
		t.Errorf("Parse = %+v, %v, want one figure of the file and one of its own bench", r, err)
	}
	for _, bad := range []string{"", "{}", `{"figures":[]}`, "x"} {
		if r, err := Parse([]byte(bad), "file"); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", bad, r)
		}
	}
}

func TestPage(t *testing.T) {
	has(t, Page(runs()), "On a <CPU>, 2 cores", "\n    go run ./tools bench x\n",
		" 1 of 3 figures are met; [table.md](table.md) has",
		"\n| [x](table.md#x) | 1 of 2 | CPU, us / r: 2.00, <= 0.50x |  |\n",
		"\n| [y](table.md#y) | 0 of 1 |  | CPU, us / gone |\n", "](x.svg)\n", "](y.svg)\n")
}

func TestTable(t *testing.T) {
	has(t, Table(runs()), "\n## x\n", "\n## y\n",
		"| rate \\| all, a second | 40.0 | 10.0 | <r> | 4.00 | >= 2.00x | met |\n",
		"| CPU, us | 20.0 | 10.0 | r | 2.00 | <= 0.50x | MISSED |\n", "| NOT MEASURED (no compiler) |\n")
}

func has(t *testing.T, got string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestSVG(t *testing.T) {
	got := SVG(runs(), "x")
	for d := xml.NewDecoder(strings.NewReader(got)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("SVG is no XML: %v\n%s", err, got)
		}
	}
	for _, want := range []string{ // 1/2 at the left end, 4× at the right: 110 an octave
		`<rect class="met" x="460.0" y="125" width="220.0"`,    // four times as good: two octaves
		`<rect class="missed" x="350.0" y="155" width="110.0"`, // twice the CPU: one, to the left
		`<line class="target" x1="570.0" y1="121"`, "prefers-color-scheme:dark", "beside &lt;r&gt;",
		"a &lt;CPU&gt;, 2 cores", "go run ./tools bench x", ">40.0 / 10.0<", "4.00×, target &gt;= 2.00x",
		">1/2<", ">4×<",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("SVG has no %s in\n%s", want, got)
		}
	}
	for _, not := range []string{"href", "url(", "@import", "<script", "not measured"} {
		if strings.Contains(got, not) {
			t.Errorf("SVG of x has %s", not)
		}
	}
	if other := SVG(runs(), "y"); !strings.Contains(other, "not measured") ||
		strings.Contains(other, `height="16"`) {
		t.Errorf("SVG of y draws a figure that was not measured:\n%s", other)
	}
}

// TestTargetRatio takes the narrower of the bounds.
func TestTargetRatio(t *testing.T) {
	for _, tt := range []struct {
		f    bench.Figure
		want float64
	}{
		{bench.Figure{Other: 10}, 0}, {bench.Figure{Other: 10, Ratio: 2, MoreIsBetter: true}, 2},
		{bench.Figure{Other: 10, Limit: 5}, 0.5}, {bench.Figure{Other: 10, Limit: 5, Ratio: 0.2}, 0.2},
		{bench.Figure{Other: 10, Limit: 1, Ratio: 0.2}, 0.1}, {bench.Figure{Other: 10, Over: 5}, 1.5},
	} {
		if got := targetRatio(tt.f); got != tt.want {
			t.Errorf("targetRatio(%+v) = %v, want %v", tt.f, got, tt.want)
		}
	}
}

func TestPlaceStaysInside(t *testing.T) {
	for _, ratio := range []float64{0, 1e-9, 0.5, 1, 2, 1e9} {
		for _, more := range []bool{true, false} {
			s := scaleOf([]bench.Figure{{Ours: 3, Other: 1, MoreIsBetter: more}})
			if x := s.place(ratio, more); fmt.Sprint(x) == "NaN" || x < svgLeft || x > svgRight {
				t.Errorf("place(%v, %v) = %v, want it in the picture", ratio, more, x)
			}
		}
	}
}

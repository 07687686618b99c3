// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"html"
	"math"
	"strings"

	"m0serve.dev/tools/internal/bench"
)

// Measures of a picture, in its own units.
const (
	svgWidth  = 960
	svgNames  = 330 // right end of the names
	svgLeft   = 350 // of the bars
	svgRight  = 680
	svgValues = 945 // right end of the measurements
	svgRow    = 30
	svgTop    = 118
	svgLine   = 120 // letters of a line of small print
	svgLeast  = 1   // octaves to each side, whatever was measured
	svgMost   = 10
)

// svgStyle keeps the picture readable on light and on dark, on its own ground, since the
// page around it may be of the other kind than the reader's system asks for.
const svgStyle = `text{font:13px system-ui,sans-serif;fill:#1f2328}.bg{fill:#fff}` +
	`.dim{fill:#59636e;font-size:11px}.head{font-size:17px;font-weight:600}` +
	`.cmd{font-family:ui-monospace,monospace}.grid{stroke:#d1d9e0}.even{stroke:#59636e}` +
	`.met{fill:#2da44e}.missed{fill:#cf222e}.target{stroke:#1f2328;stroke-width:2.5}` +
	`@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.bg{fill:#0d1117}.dim{fill:#9198a1}` +
	`.grid{stroke:#3d444d}.even{stroke:#9198a1}.met{fill:#3fb950}.missed{fill:#f85149}` +
	`.target{stroke:#f0f6fc}}`

// A scale places ratios by octaves.
type scale struct{ worse, better int } // octaves to the left and to the right

// SVG draws the figures of one bench: a bar to the right where ours is better than the
// rival, to the left where it is worse, by octaves, and a mark where it was promised to
// end; both measurements with their unit beside it, machine and command above.
func SVG(runs []Run, name string) string {
	list := of(runs, name)
	s := scaleOf(list)
	bottom := svgTop + svgRow*len(list)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">`+
		"\n<title>%s</title>\n<style>%s</style>\n"+`<rect class="bg" width="100%%" height="100%%"/>`+"\n",
		svgWidth, bottom+34, html.EscapeString(name+": ours beside rivals"), svgStyle)
	drawHead(&b, runs, name)
	drawScale(&b, s, bottom)
	for i, f := range list {
		drawFigure(&b, s, f, svgTop+svgRow*i)
	}
	drawLegend(&b, bottom+14)
	b.WriteString("</svg>\n")
	return b.String()
}

// drawHead says what was measured, where and how.
func drawHead(b *strings.Builder, runs []Run, name string) {
	fmt.Fprintf(b, `<text class="head" x="15" y="28">%s: ours beside rivals</text>`+"\n",
		html.EscapeString(name))
	for _, r := range runs {
		if !hasBench(r, name) {
			continue
		}
		lines := []struct{ class, text string }{
			{"dim", r.Machine.String()}, {"dim cmd", r.Command},
		}
		for i, l := range lines {
			fmt.Fprintf(b, `<text class="%s" x="15" y="%d">%s</text>`+"\n", l.class, 48+17*i,
				html.EscapeString(short(l.text, svgLine)))
		}
		return // the first run speaks for all
	}
}

func hasBench(r Run, name string) bool {
	for _, f := range r.Figures {
		if f.Bench == name {
			return true
		}
	}
	return false
}

// drawScale draws the octaves behind the bars, and what the columns are.
func drawScale(b *strings.Builder, s scale, bottom int) {
	step := 1
	if s.worse+s.better > 8 {
		step = 2
	}
	for octave := -s.worse; octave <= s.better; octave++ {
		if octave%step != 0 {
			continue
		}
		class := "grid"
		if octave == 0 {
			class = "even"
		}
		x := s.at(float64(octave))
		fmt.Fprintf(b, `<line class="%s" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`+
			`<text class="dim" x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			class, x, svgTop-6, x, bottom, x, svgTop-12, times(octave))
	}
	fmt.Fprintf(b, `<text class="dim" x="%.1f" y="%d" text-anchor="middle">times as good as the `+
		`rival</text><text class="dim" x="%d" y="%d" text-anchor="end">ours / rival</text>`+"\n",
		float64(svgLeft+svgRight)/2, svgTop-28, svgValues, svgTop-12)
}

// times names an octave.
func times(octave int) string {
	if octave < 0 {
		return fmt.Sprintf("1/%d", 1<<-octave)
	}
	return fmt.Sprintf("%d×", 1<<octave)
}

// drawFigure draws one row.
func drawFigure(b *strings.Builder, s scale, f bench.Figure, y int) {
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+
		`<text class="dim" x="%d" y="%d" text-anchor="end">%s</text>`+"\n",
		svgNames, y+13, html.EscapeString(short(strings.TrimPrefix(f.Name, f.Bench+" "), 48)),
		svgNames, y+25, html.EscapeString(short(f.Unit+", beside "+f.Rival, 56)))
	if !f.Measured() {
		fmt.Fprintf(b, `<text class="dim" x="%.1f" y="%d">not measured</text>`+"\n",
			s.at(0)+6, y+19)
		return
	}
	class, even := "missed", s.at(0)
	if f.Met() {
		class = "met"
	}
	end := s.place(f.Got(), f.MoreIsBetter)
	fmt.Fprintf(b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="16">`+
		`<title>%s</title></rect>`, class, min(end, even), y+7, max(math.Abs(end-even), 1),
		html.EscapeString(strings.Join(strings.Fields(f.String()), " ")))
	if t := targetRatio(f); t > 0 {
		x := s.place(t, f.MoreIsBetter)
		fmt.Fprintf(b, `<line class="target" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, x, y+3, x, y+27)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s / %s</text>`+"\n",
		svgValues, y+13, bench.Number(f.Ours), bench.Number(f.Other))
	fmt.Fprintf(b, `<text class="dim" x="%d" y="%d" text-anchor="end">%s×, target %s</text>`+"\n",
		svgValues, y+25, bench.Ratio(f.Got()), html.EscapeString(f.Target()))
}

// targetRatio is where the promise lies beside this rival, as a ratio; of two bounds
// the narrower. Zero: nothing was promised.
func targetRatio(f bench.Figure) float64 {
	t := f.Ratio
	narrow := func(bound float64) {
		if t == 0 || bound < t {
			t = bound
		}
	}
	if f.Limit > 0 {
		narrow(f.Limit / f.Other)
	}
	if f.Over > 0 {
		narrow(1 + f.Over/f.Other)
	}
	return t
}

func drawLegend(b *strings.Builder, y int) {
	fmt.Fprintf(b, `<rect class="met" x="15" y="%d" width="12" height="10"/>`+
		`<text class="dim" x="32" y="%d">target met</text>`+
		`<rect class="missed" x="110" y="%d" width="12" height="10"/>`+
		`<text class="dim" x="127" y="%d">missed</text>`+
		`<line class="target" x1="190" y1="%d" x2="190" y2="%d"/>`+
		`<text class="dim" x="198" y="%d">the target</text>`+
		`<text class="dim" x="290" y="%d">Bars to the right: ours is better. Only ratios compare `+
		`with another machine.</text>`+"\n", y-1, y+8, y-1, y+8, y-4, y+11, y+8, y+8)
}

// octaves is how much better ours is, by doublings.
func octaves(ratio float64, moreIsBetter bool) float64 {
	if ratio <= 0 {
		return 0
	}
	if !moreIsBetter {
		ratio = 1 / ratio
	}
	return max(-svgMost, min(svgMost, math.Log2(ratio)))
}

// scaleOf has room for every bar and every mark.
func scaleOf(list []bench.Figure) scale {
	s := scale{svgLeast, svgLeast}
	for _, f := range list {
		if f.Measured() {
			s.widen(octaves(f.Got(), f.MoreIsBetter))
			s.widen(octaves(targetRatio(f), f.MoreIsBetter))
		}
	}
	return s
}

func (s *scale) widen(octave float64) {
	s.better = max(s.better, int(math.Ceil(octave)))
	s.worse = max(s.worse, int(math.Ceil(-octave)))
}

// at is where an octave lies.
func (s scale) at(octave float64) float64 {
	octave = max(-float64(s.worse), min(float64(s.better), octave))
	return svgLeft + (octave+float64(s.worse))*(svgRight-svgLeft)/float64(s.worse+s.better)
}

// place is where a ratio of ours to the rival's lies.
func (s scale) place(ratio float64, moreIsBetter bool) float64 {
	return s.at(octaves(ratio, moreIsBetter))
}

// short cuts a text that there is no room for.
func short(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

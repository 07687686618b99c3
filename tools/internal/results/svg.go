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
	svgWidth  = 860
	svgText   = 400 // right end of the names
	svgMiddle = 600 // where ours is as good as the rival
	svgOctave = 40  // for twice as good, or half
	svgEnd    = 5.0 // octaves that a bar has room for
	svgRow    = 24
	svgTop    = 52
)

// svgStyle keeps the picture readable on light and on dark: colours of the text are
// those that the reader's page asks for.
const svgStyle = `text{font:12px sans-serif;fill:#222}.dim{fill:#666}.line{stroke:#888}` +
	`.met{fill:#2a8f5b}.missed{fill:#c8452f}.target{stroke:#222;stroke-width:2}` +
	`@media(prefers-color-scheme:dark){text{fill:#eee}.dim{fill:#aaa}.target{stroke:#eee}}`

// SVG draws the figures of one bench: a bar to the right where ours is better than the
// rival, to the left where it is worse, by octaves, and a mark where it was promised to
// end.
func SVG(runs []Run, name string) string {
	list := of(runs, name)
	height := svgTop + svgRow*len(list) + 30
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">`+
		"\n<title>%s</title>\n<style>%s</style>\n", svgWidth, height,
		html.EscapeString(name+": ours beside rivals"), svgStyle)
	fmt.Fprintf(&b, `<text x="8" y="20" font-weight="bold">%s</text>`+"\n", html.EscapeString(name))
	for octave := -4; octave <= 4; octave += 2 {
		x := svgMiddle + octave*svgOctave
		fmt.Fprintf(&b, `<line class="line" x1="%d" y1="%d" x2="%d" y2="%d" stroke-opacity=".3"/>`+
			`<text class="dim" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n",
			x, svgTop-12, x, height-26, x, svgTop-18, times(octave))
	}
	for i, f := range list {
		drawFigure(&b, f, svgTop+svgRow*i)
	}
	fmt.Fprintf(&b, `<line class="line" x1="%d" y1="%d" x2="%d" y2="%d"/>`+
		`<text class="dim" x="8" y="%d">right: better than the rival; mark: the target</text>`+
		"\n</svg>\n", svgMiddle, svgTop-12, svgMiddle, height-26, height-8)
	return b.String()
}

// times names an octave.
func times(octave int) string {
	switch {
	case octave == 0:
		return "as good"
	case octave < 0:
		return fmt.Sprintf("1/%d", 1<<-octave)
	}
	return fmt.Sprintf("%d×", 1<<octave)
}

// drawFigure draws one row.
func drawFigure(b *strings.Builder, f bench.Figure, y int) {
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", svgText, y+14,
		html.EscapeString(short(f.Name+" / "+f.Rival)))
	if f.Ours <= 0 || f.Other <= 0 {
		fmt.Fprintf(b, `<text class="dim" x="%d" y="%d">not measured</text>`+"\n", svgMiddle+6, y+14)
		return
	}
	class := "missed"
	if f.Met() {
		class = "met"
	}
	end := place(f.Got(), f.MoreIsBetter)
	fmt.Fprintf(b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="16">`+
		`<title>%s</title></rect>`, class, min(end, svgMiddle), y+2, max(math.Abs(end-svgMiddle), 1),
		html.EscapeString(strings.Join(strings.Fields(f.String()), " ")))
	if f.Ratio > 0 {
		x := place(f.Ratio, f.MoreIsBetter)
		fmt.Fprintf(b, `<line class="target" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, x, y, x, y+20)
	}
	fmt.Fprintf(b, `<text class="dim" x="%d" y="%d" text-anchor="end">%.2f</text>`+"\n",
		svgWidth-8, y+14, f.Got())
}

// place is where a ratio of ours to the rival's lies.
func place(ratio float64, moreIsBetter bool) float64 {
	octaves := math.Log2(ratio)
	if !moreIsBetter {
		octaves = -octaves
	}
	return svgMiddle + svgOctave*max(-svgEnd, min(svgEnd, octaves))
}

// shortMax is how many letters of a name there is room for.
const shortMax = 58

func short(name string) string {
	if runes := []rune(name); len(runes) > shortMax {
		return string(runes[:shortMax-1]) + "…"
	}
	return name
}

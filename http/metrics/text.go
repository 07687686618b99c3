// SPDX-License-Identifier: MIT

package metrics

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The two formats, as content types.
const (
	OpenMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8"
	Plain       = "text/plain; version=0.0.4; charset=utf-8"
)

// A Kind of family.
type Kind uint8

// The kinds. An Info shows what something is, as labels.
const (
	KindCounter Kind = iota
	KindGauge
	KindHistogram
	KindInfo
)

// String is the kind as OpenMetrics has it.
func (k Kind) String() string {
	return [...]string{"counter", "gauge", "histogram", "info"}[k]
}

// A Family is samples of one name.
type Family struct {
	Name string // without _total, _info and the like
	Unit string // the end of Name, such as "seconds"; "" when there is none
	Help string
	Kind Kind // set by what makes the family
}

// A Writer appends families as text. It belongs to one goroutine.
type Writer struct {
	dst    []byte
	open   bool // OpenMetrics, and not 0.0.4
	family Family
	begun  bool     // the family has its head
	base   []string // labels of every sample, name and value in turns
}

// NewWriter appends to dst, in the format of contentType: OpenMetrics or Plain.
func NewWriter(dst []byte, contentType string) *Writer {
	return &Writer{dst: dst, open: contentType == OpenMetrics}
}

// Begin says that the samples which follow are of f. A family without samples is
// not shown. Names are written as they are: see Family.Check.
func (w *Writer) Begin(f Family) { w.family, w.begun = f, false }

// Base puts labels, name and value in turns, before those of every sample from here
// on, in place of those that were said before.
func (w *Writer) Base(labels ...string) { w.base = labels }

// Sample appends one sample of a counter, a gauge or an info; labels are name and
// value in turns.
func (w *Writer) Sample(value float64, labels ...string) {
	suffix := ""
	switch w.family.Kind {
	case KindCounter:
		suffix = "_total"
	case KindInfo:
		suffix = "_info"
	}
	w.line(suffix, value, "", labels)
}

// Whole is Sample for a whole number.
func Whole[N int | int64 | uint64](w *Writer, value N, labels ...string) {
	w.Sample(float64(value), labels...)
}

// Histogram appends the samples of one histogram. counts are those of the buckets,
// each without the ones below it, one for every bound and one above them all.
func (w *Writer) Histogram(bounds []float64, counts []uint64, sum float64, labels ...string) {
	all := uint64(0)
	for i, n := range counts {
		all += n
		le := "+Inf"
		if i < len(bounds) {
			le = boundText(bounds[i])
		}
		w.line("_bucket", float64(all), le, labels)
	}
	w.line("_count", float64(all), "", labels)
	w.line("_sum", sum, "", labels)
}

// Close ends the text and returns it.
func (w *Writer) Close() []byte {
	if w.open {
		w.dst = append(w.dst, "# EOF\n"...)
	}
	return w.dst
}

// head describes the family, before its first sample. The older format names
// counters by their samples and knows neither units nor infos.
func (w *Writer) head() {
	w.begun = true
	name, kind := w.family.Name, w.family.Kind
	if !w.open {
		switch kind {
		case KindCounter:
			name += "_total"
		case KindInfo:
			name, kind = name+"_info", KindGauge
		}
	}
	w.dst = append(w.dst, "# HELP "+name+" "...)
	w.dst = append(escape(w.dst, w.family.Help, w.open), '\n')
	w.dst = append(w.dst, "# TYPE "+name+" "+kind.String()+"\n"...)
	if w.open && w.family.Unit != "" {
		w.dst = append(w.dst, "# UNIT "+name+" "+w.family.Unit+"\n"...)
	}
}

func (w *Writer) line(suffix string, value float64, le string, labels []string) {
	if !w.begun {
		w.head()
	}
	w.dst = append(w.dst, w.family.Name...)
	w.dst = append(w.dst, suffix...)
	mark := byte('{')
	for _, list := range [...][]string{w.base, labels} {
		for i := 0; i+1 < len(list); i += 2 {
			w.label(mark, list[i], list[i+1])
			mark = ','
		}
	}
	if le != "" {
		w.label(mark, "le", le)
		mark = ','
	}
	if mark == ',' {
		w.dst = append(w.dst, '}')
	}
	w.dst = append(w.dst, ' ')
	w.dst = append(appendValue(w.dst, value), '\n')
}

func (w *Writer) label(mark byte, name, value string) {
	w.dst = append(w.dst, mark)
	w.dst = append(w.dst, name...)
	w.dst = append(w.dst, `="`...)
	w.dst = append(escape(w.dst, value, true), '"')
}

// escape appends s so that it cannot end its line, nor its quotes; what is not UTF-8
// is replaced, since no parser takes the document otherwise.
func escape(dst []byte, s string, quotes bool) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\\', c == '"' && quotes:
			dst = append(dst, '\\', c)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func appendValue(dst []byte, v float64) []byte {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.AppendInt(dst, int64(v), 10)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// boundText is a bound as OpenMetrics wants floats in le: with a point.
func boundText(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// SPDX-License-Identifier: MIT

// Package metricstest reads OpenMetrics text for tests, by the letter of its
// specification and without any code of the writer.
package metricstest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A checker has read some lines: names, order of the descriptions, suffixes,
// escapes, histograms, one family in one piece, no sample twice, the end.
type checker struct {
	values  map[string]float64
	family  string
	kind    string
	unit    string
	seen    map[string]bool // families
	samples bool            // of this family there are some
	last    struct {        // histogram in hand
		key   string
		le    float64
		count float64
	}
}

var (
	nameRule   = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	labelRule  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)`)
	helpRule   = regexp.MustCompile(`^(?:[^"\\\n]|\\["\\n])*$`)
	sampleRule = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
)

// Parse returns the samples of doc by name and labels as written, or what is wrong
// with it.
func Parse(doc string) (map[string]float64, error) {
	c := &checker{values: map[string]float64{}, seen: map[string]bool{}}
	if !utf8.ValidString(doc) {
		return nil, fmt.Errorf("not UTF-8")
	}
	body, found := strings.CutSuffix(doc, "# EOF\n")
	if !found {
		return nil, fmt.Errorf("does not end with # EOF")
	}
	for line := range strings.Lines(body) {
		line, found = strings.CutSuffix(line, "\n")
		if !found || line == "" {
			return nil, fmt.Errorf("line %q is empty or has no end", line)
		}
		read := c.sample
		if strings.HasPrefix(line, "#") {
			read = c.describe
		}
		if err := read(line); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
	}
	return c.values, c.endHistogram()
}

// describe reads # TYPE, # UNIT and # HELP.
func (c *checker) describe(line string) error {
	f := strings.SplitN(line, " ", 4)
	if len(f) != 4 || f[0] != "#" || !nameRule.MatchString(f[2]) {
		return fmt.Errorf("no description")
	}
	if f[2] != c.family {
		if err := c.endHistogram(); err != nil {
			return err
		}
		if c.seen[f[2]] {
			return fmt.Errorf("family %s comes in two pieces", f[2])
		}
		c.seen[f[2]] = true
		c.family, c.kind, c.unit, c.samples = f[2], "", "", false
	}
	if c.samples {
		return fmt.Errorf("description behind samples")
	}
	switch f[1] {
	case "TYPE":
		if c.kind != "" || !slices.Contains([]string{"counter", "gauge", "histogram", "info"}, f[3]) {
			return fmt.Errorf("type %q", f[3])
		}
		if c.kind = f[3]; c.kind == "counter" && strings.HasSuffix(f[2], "_total") {
			return fmt.Errorf("a counter's family has no _total")
		}
	case "UNIT":
		if c.unit = f[3]; !strings.HasSuffix(c.family, "_"+c.unit) {
			return fmt.Errorf("unit %q is not the end of %s", c.unit, c.family)
		}
	case "HELP":
		if !helpRule.MatchString(f[3]) {
			return fmt.Errorf("help %q", f[3])
		}
	default:
		return fmt.Errorf("unknown description")
	}
	return nil
}

func (c *checker) sample(line string) error {
	m := sampleRule.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("no sample")
	}
	suffix, found := strings.CutPrefix(m[1], c.family)
	if !found || c.kind == "" {
		return fmt.Errorf("sample outside of its family %q", c.family)
	}
	labels, err := readLabels(m[2])
	if err != nil {
		return err
	}
	value, err := strconv.ParseFloat(m[3], 64)
	if err != nil {
		return err
	}
	key := m[1]
	if m[2] != "" {
		key += "{" + m[2] + "}"
	}
	if _, twice := c.values[key]; twice {
		return fmt.Errorf("sample comes twice")
	}
	c.values[key], c.samples = value, true
	switch {
	case c.kind == "gauge" && suffix != "":
		return fmt.Errorf("suffix %q of a gauge", suffix)
	case c.kind == "info" && (suffix != "_info" || value != 1):
		return fmt.Errorf("info with suffix %q, value %v", suffix, value)
	case c.kind == "counter" && (suffix != "_total" || value < 0 || math.IsNaN(value)):
		return fmt.Errorf("counter with suffix %q, value %v", suffix, value)
	case c.kind == "histogram":
		return c.histogram(suffix, labels, value)
	}
	return nil
}

func readLabels(text string) (labels map[string]string, err error) {
	labels = map[string]string{}
	for text != "" {
		m := labelRule.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("labels %q", text)
		}
		if _, twice := labels[m[1]]; twice {
			return nil, fmt.Errorf("label %s twice", m[1])
		}
		labels[m[1]] = m[2]
		text = text[len(m[0]):]
		if text == "" && m[3] == "," {
			return nil, fmt.Errorf("a comma and no label behind it")
		}
	}
	return labels, nil
}

// histogram wants buckets of growing le and counts, then _count and _sum.
func (c *checker) histogram(suffix string, labels map[string]string, value float64) error {
	le := labels["le"]
	delete(labels, "le")
	key := fmt.Sprint(labels)
	switch suffix {
	case "_bucket":
		if key != c.last.key {
			if err := c.endHistogram(); err != nil {
				return err
			}
			c.last.key, c.last.le, c.last.count = key, math.Inf(-1), 0
		}
		bound, err := strconv.ParseFloat(le, 64)
		if err != nil || bound <= c.last.le || value < c.last.count ||
			le != "+Inf" && !strings.ContainsAny(le, ".e") {
			return fmt.Errorf("bucket %q of %v behind %v of %v", le, value, c.last.le, c.last.count)
		}
		c.last.le, c.last.count = bound, value
	case "_count", "_sum":
		if key != c.last.key || !math.IsInf(c.last.le, 1) || suffix == "_count" && value != c.last.count {
			return fmt.Errorf("%s %v behind a last bucket %v of %v", suffix, value, c.last.le, c.last.count)
		}
	default:
		return fmt.Errorf("suffix %q of a histogram", suffix)
	}
	return nil
}

func (c *checker) endHistogram() error {
	if c.last.key != "" && !math.IsInf(c.last.le, 1) {
		return fmt.Errorf("histogram %s has no +Inf", c.last.key)
	}
	c.last.key = ""
	return nil
}

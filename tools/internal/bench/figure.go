// SPDX-License-Identifier: MIT

// Package bench measures our programs beside others, both in one run: a figure is
// a pair of measurements and the ratio that was promised. Ours and the rival take
// turns, and the best of each counts, because other work on a machine can only
// make a run worse. Absolute figures belong to the machine they are printed with;
// only the ratios are compared with anything.
package bench

import (
	"fmt"
	"time"
)

// Figure is one promise measured: ours beside a rival's.
type Figure struct {
	Bench string  `json:"bench,omitempty"` // that it is of
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Ours  float64 `json:"ours"`
	Other float64 `json:"rival"`
	Rival string  `json:"rival_name"`

	// Ratio is the bound on ours divided by the rival's: the least it may be when
	// MoreIsBetter, else the most. Zero: no bound.
	Ratio        float64 `json:"ratio_target"`
	MoreIsBetter bool    `json:"more_is_better"`

	// Limit is the most that ours may be, whatever the rival does. Zero: none.
	Limit float64 `json:"limit,omitempty"`

	// Over is the most that ours may be above the rival's. Zero: no bound.
	Over float64 `json:"over,omitempty"`

	// Why says why a side was not measured, or what limited it.
	Why string `json:"why,omitempty"`
}

// Got returns ours divided by the rival's.
func (f Figure) Got() float64 {
	if f.Other == 0 {
		return 0
	}
	return f.Ours / f.Other
}

// Measured reports whether both sides were.
func (f Figure) Measured() bool { return f.Ours > 0 && f.Other > 0 }

// PerCPU compares requests of a second of the processor, from the microseconds that one took:
// where the load had no more to give, the rate says nothing of the server.
func (f *Figure) PerCPU(ours, other float64) {
	f.Unit, f.Why = "requests/CPU s", "the load's core was full"
	f.Ours, f.Other = 1e6/ours, 1e6/other
}

// Met reports whether the figure keeps what was promised. A figure that was not
// measured keeps nothing.
func (f Figure) Met() bool {
	if !f.Measured() {
		return false
	}
	if f.Limit > 0 && f.Ours > f.Limit || f.Over > 0 && f.Ours > f.Other+f.Over {
		return false
	}
	switch {
	case f.Ratio == 0:
		return true
	case f.MoreIsBetter:
		return f.Got() >= f.Ratio
	}
	return f.Got() <= f.Ratio
}

// Head is the line above figures.
func Head() string {
	return fmt.Sprintf("%-34s %12s %12s %-22s %7s  %-22s %s",
		"figure", "ours", "rival", "", "ratio", "target", "")
}

// String is the line of a figure.
func (f Figure) String() string {
	return fmt.Sprintf("%-34s %12s %12s %-22s %6sx  %-22s %s", f.Name+", "+f.Unit,
		Number(f.Ours), Number(f.Other), f.Rival, Ratio(f.Got()), f.Target(), f.Verdict())
}

// Verdict says whether the figure is met, and why not.
func (f Figure) Verdict() string {
	verdict := "met"
	switch {
	case !f.Measured():
		verdict = "NOT MEASURED"
	case !f.Met():
		verdict = "MISSED"
	}
	if f.Why != "" {
		verdict += " (" + f.Why + ")"
	}
	return verdict
}

// Target is what was promised.
func (f Figure) Target() string {
	sign := "<="
	if f.MoreIsBetter {
		sign = ">="
	}
	switch {
	case f.Over > 0:
		return fmt.Sprintf("<= rival + %s", Number(f.Over))
	case f.Ratio == 0 && f.Limit == 0:
		return "none"
	case f.Ratio == 0:
		return fmt.Sprintf("<= %s", Number(f.Limit))
	case f.Limit == 0:
		return fmt.Sprintf("%s %.2fx", sign, f.Ratio)
	}
	return fmt.Sprintf("%s %.2fx and <= %s", sign, f.Ratio, Number(f.Limit))
}

// Number prints a measurement with as many digits as it is good for.
func Number(x float64) string {
	switch {
	case x >= 1000:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// Ratio prints a ratio; of one that two places would make nothing, the first digits.
func Ratio(x float64) string {
	if x > 0 && x < 0.01 {
		return fmt.Sprintf("%.1g", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// Best keeps the better of what it is given.
type Best struct {
	More  bool // more is better
	value float64
	set   bool
}

// Add takes one measurement.
func (b *Best) Add(x float64) {
	if !b.set || (x > b.value) == b.More {
		b.value, b.set = x, true
	}
}

// Value returns the best so far, zero before the first.
func (b *Best) Value() float64 { return b.value }

// seconds returns a duration in seconds for flags of other programs.
func seconds(d time.Duration) string {
	return fmt.Sprint(max(1, int(d.Round(time.Second)/time.Second)))
}

// SPDX-License-Identifier: MIT

package prove

import (
	"fmt"
	"slices"
)

// Mutants counts what became of the changes that were made to a package.
type Mutants struct {
	Made, Killed, Lived, TimedOut, NotCovered int
	Reviewed                                  int      // of those that lived: people said why
	Survivors                                 []string // the others that lived
}

// Fates of a change.
const (
	Killed     = "KILLED"
	Lived      = "LIVED"
	TimedOut   = "TIMED OUT"
	NotCovered = "NOT COVERED"
)

// Count takes the fate of one change.
func (m *Mutants) Count(fate, change string, reviewed bool) {
	switch fate {
	case Killed:
		m.Killed++
		return
	case TimedOut:
		m.TimedOut++
		return
	case NotCovered:
		m.NotCovered++
		change += ", not reached"
	default:
		m.Lived++
	}
	if reviewed {
		m.Reviewed++
		return
	}
	m.Survivors = append(m.Survivors, change)
	slices.Sort(m.Survivors)
}

// Add takes the counts of another package.
func (m *Mutants) Add(o Mutants) {
	m.Made += o.Made
	m.Killed += o.Killed
	m.Lived += o.Lived
	m.TimedOut += o.TimedOut
	m.NotCovered += o.NotCovered
	m.Reviewed += o.Reviewed
	m.Survivors = append(m.Survivors, o.Survivors...)
}

// Tried is how many changes have a fate.
func (m *Mutants) Tried() int { return m.Killed + m.TimedOut + m.Lived + m.NotCovered }

// Score is the share of changes that a test noticed, in hundredths. One that made a
// test hang was noticed; one that no test reaches was not, reviewed or not.
func (m *Mutants) Score() float64 {
	seen := m.Killed + m.TimedOut
	if all := seen + m.Lived + m.NotCovered; all > 0 {
		return 100 * float64(seen) / float64(all)
	}
	return 0
}

// String is the line about a package.
func (m *Mutants) String() string {
	return fmt.Sprintf("%d of %d changes: %d killed, %d timed out, %d lived, %d not reached "+
		"(%d of these reviewed): %.1f %%", m.Tried(), m.Made, m.Killed, m.TimedOut, m.Lived,
		m.NotCovered, m.Reviewed, m.Score())
}

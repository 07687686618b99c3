// SPDX-License-Identifier: MIT

package prove

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Mutants counts what became of the changes that gremlins made to a package.
type Mutants struct {
	Killed, Lived, TimedOut, NotCovered, NotViable int
	Survivors                                      []string // file:line:column kind
}

// ParseMutants reads the report of gremlins for the package in folder dir. File
// names in it are below that folder.
func ParseMutants(report []byte, dir string) (m Mutants, err error) {
	var r struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []struct {
				Type, Status string
				Line, Column int
			}
		}
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return m, fmt.Errorf("prove: report of gremlins: %w", err)
	}
	for _, f := range r.Files {
		for _, c := range f.Mutations {
			m.count(c.Status)
			if c.Status == "LIVED" {
				m.Survivors = append(m.Survivors, fmt.Sprintf("%s:%d:%d %s", path.Join(dir, f.Name),
					c.Line, c.Column, strings.ToLower(c.Type)))
			}
		}
	}
	if m.all() == 0 {
		return m, errors.New("prove: gremlins made no change")
	}
	slices.Sort(m.Survivors)
	return m, nil
}

func (m *Mutants) count(status string) {
	switch status {
	case "KILLED":
		m.Killed++
	case "LIVED":
		m.Lived++
	case "TIMED OUT":
		m.TimedOut++
	case "NOT COVERED":
		m.NotCovered++
	default:
		m.NotViable++
	}
}

func (m *Mutants) all() int {
	return m.Killed + m.Lived + m.TimedOut + m.NotCovered + m.NotViable
}

// Add takes the counts of another package.
func (m *Mutants) Add(o Mutants) {
	m.Killed += o.Killed
	m.Lived += o.Lived
	m.TimedOut += o.TimedOut
	m.NotCovered += o.NotCovered
	m.NotViable += o.NotViable
	m.Survivors = append(m.Survivors, o.Survivors...)
}

// Score is the share of changes that a test noticed, in hundredths. One that made a
// test hang was noticed; one that no test reaches was not.
func (m *Mutants) Score() float64 {
	seen := m.Killed + m.TimedOut
	if all := seen + m.Lived + m.NotCovered; all > 0 {
		return 100 * float64(seen) / float64(all)
	}
	return 0
}

// String is the line about a package.
func (m *Mutants) String() string {
	return fmt.Sprintf("%d killed, %d lived, %d timed out, %d not covered: %.1f %%",
		m.Killed, m.Lived, m.TimedOut, m.NotCovered, m.Score())
}

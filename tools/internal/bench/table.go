// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"strings"
)

// A Line is one side in the table of a workload.
type Line struct {
	Side  string
	Cells []string // one a column
	Why   string   // why it was not measured, if it was not: then it has no cells
	Notes []string // behind the cells
	Full  bool     // the load could not ask for more, which is told below the table
}

// A Column of a table has a value for each row of a bench.
type Column[R any] struct {
	Head  string
	Value func(R) string
}

// Heads are those of columns.
func Heads[R any](columns []Column[R]) (heads []string) {
	for _, c := range columns {
		heads = append(heads, c.Head)
	}
	return heads
}

// Cells are the values of a row.
func Cells[R any](columns []Column[R], row R) (cells []string) {
	for _, c := range columns {
		cells = append(cells, c.Value(row))
	}
	return cells
}

// Table is what a workload gave, for people: its name and the heads of its columns,
// and a line a side. Columns are as wide as what stands in them; notes may have a head,
// behind those of the cells.
func Table(name string, heads []string, lines []Line) string {
	side, widths := len(name), make([]int, len(heads))
	for i, head := range heads {
		widths[i] = max(len(head), len("100.0"))
	}
	for _, l := range lines {
		side = max(side, len(l.Side))
		for i, cell := range l.Cells {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var b strings.Builder
	row := func(first string, cells []string) {
		fmt.Fprintf(&b, "%-*s", side, first)
		for i, cell := range cells {
			fmt.Fprintf(&b, "  %*s", widths[i], cell)
		}
	}
	row(name, heads)
	full := false
	for _, l := range lines {
		full = full || l.Full
		b.WriteByte('\n')
		if l.Why != "" {
			indent := "\n" + strings.Repeat(" ", side+2)
			row(l.Side, []string{})
			b.WriteString("  not measured: " + strings.ReplaceAll(l.Why, "\n", indent))
			continue
		}
		row(l.Side, l.Cells)
		for _, note := range l.Notes {
			b.WriteString("  " + note)
		}
	}
	if full {
		b.WriteString("\n" + fullMark + " the load's core was full: compare CPU")
	}
	return b.String()
}

// Cell prints a measurement for a table; what was not measured is a dash.
func Cell(x float64) string {
	if x == 0 {
		return "-"
	}
	return Number(x)
}

// RateCell is Cell for a rate; full says that the load could not have made it higher.
func RateCell(rate float64, full bool) string {
	if full {
		return Cell(rate) + fullMark
	}
	return Cell(rate)
}

const fullMark = "*"

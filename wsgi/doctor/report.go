// SPDX-License-Identifier: MIT

package doctor

import "m0serve.dev/http/config/diagnosis"

// What a report is made of; see package diagnosis.
type (
	// Mark says how a line is meant.
	Mark = diagnosis.Mark
	// Line is one thing that was looked at.
	Line = diagnosis.Line
)

// Marks, from harmless to what keeps m0serve from serving.
const (
	Note    = diagnosis.Note
	Good    = diagnosis.Good
	Warning = diagnosis.Warning
	Problem = diagnosis.Problem
)

// A Report is all that was found, in the order it is printed.
type Report struct{ diagnosis.Report }

func (r *Report) last() *Line { return &r.Lines[len(r.Lines)-1] }

// SPDX-License-Identifier: MIT

package prove

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Result is what one part of the long run did.
type Result struct {
	Part    string
	Ran     string   // what ran, and how much of it
	Found   []string // what it found, a line each: failures, survivors
	Skipped string   // why it did not run, "" when it did
	Err     error    // why it failed, nil when what it found is only told
	Cut     bool     // it was cut off: what it ran is not all of it
	Took    time.Duration
}

// Verdict is the one word about a result.
func (r Result) Verdict() string {
	switch {
	case r.Err != nil:
		return "FAILED"
	case r.Skipped != "":
		return "not run"
	case r.Cut:
		return "cut off"
	}
	return "ok"
}

// summary is what ran, or why nothing did.
func (r Result) summary() string {
	if r.Skipped != "" {
		return r.Skipped
	}
	return r.Ran
}

// Report is a whole run.
type Report struct {
	Command string // as it can be typed again
	Commit  string // what was looked at
	Machine string
	Results []Result
	Left    []string // parts that did not run to their end
}

// Failed are the parts that failed.
func (r Report) Failed() (parts []string) {
	for _, result := range r.Results {
		if result.Err != nil {
			parts = append(parts, result.Part)
		}
	}
	return parts
}

// Text is the summary at the end of a run: a line for each part, and below it what
// was found.
func (r Report) Text() string {
	var b strings.Builder
	for _, result := range r.Results {
		fmt.Fprintf(&b, "%-12s %-8s %8s  %s\n", result.Part, result.Verdict(),
			result.Took.Round(time.Second), result.summary())
		for _, line := range result.Found {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	b.WriteString(r.left("%s"))
	return b.String()
}

// left says what is left to run, and how, in a line around the command; nothing: "".
func (r Report) left(around string) string {
	if len(r.Left) == 0 {
		return ""
	}
	command := "go run ./tools prove --only " + strings.Join(r.Left, ",")
	return fmt.Sprintf("\nleft to run: "+around+"\n", command)
}

// Write writes the report to a file, "" for none.
func (r Report) Write(file string) error {
	if file == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(r.Markdown()), 0o644)
}

// Markdown is the report as a file.
func (r Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The long run\n\nCommit %s, on %s:\n\n    %s\n\n",
		r.Commit, r.Machine, r.Command)
	b.WriteString("| part | verdict | what ran | time |\n|---|---|---|---|\n")
	for _, result := range r.Results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", result.Part, result.Verdict(),
			Cell(result.summary()), result.Took.Round(time.Second))
	}
	b.WriteString(r.left("`%s`"))
	for _, result := range r.Results {
		if len(result.Found) == 0 && result.Err == nil {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n", result.Part)
		if len(result.Found) > 0 {
			b.WriteString("\n")
		}
		for _, line := range result.Found {
			fmt.Fprintf(&b, "- %s\n", code(line))
		}
		if result.Err != nil {
			fmt.Fprintf(&b, "\n    %s\n", strings.ReplaceAll(strings.TrimSpace(result.Err.Error()), "\n",
				"\n    "))
		}
	}
	return b.String()
}

// Cell makes a text fit for a cell of a table.
func Cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}

// code quotes a line of a program.
func code(line string) string {
	if strings.Contains(line, "`") {
		return "`` " + line + " ``"
	}
	return "`" + line + "`"
}

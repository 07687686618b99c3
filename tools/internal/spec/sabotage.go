// SPDX-License-Identifier: MIT

package spec

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// sabotageDir is where a module keeps its sabotages.
const sabotageDir = "testdata/sabotage"

// Sabotage is a change to one file that breaks a promise, and the test run that
// must notice it.
type Sabotage struct {
	ID     string // name of its file without .txt, unique in a module
	Module string // folder of the module
	Path   string // its own file below the top, with slashes
	Row    string // id of the promise it breaks
	File   string // the file that it changes, below the module
	Gate   string // command run in the module's folder, as written
	Want   string // text that the failing gate must print
	Old    string // whole lines that File must hold exactly once
	New    string // what stands in their place
	Bad    error  // why the file cannot be read as one; then only ID to Path are set
}

// anyFailure are words that a test prints whatever it failed of.
var anyFailure = []string{"FAIL", "panic", "error", "want", "got", "read", "in it"}

// ErrStale reports that the old text of a sabotage does not occur exactly once.
var ErrStale = errors.New("stale")

// LoadSabotages reads the sabotages of the module in folder module below top,
// sorted by id. One that cannot be understood is in the list too, with Bad set.
func LoadSabotages(top, module string) ([]*Sabotage, error) {
	dir := path.Join(module, sabotageDir)
	names, err := filepath.Glob(filepath.Join(top, filepath.FromSlash(dir), "*.txt"))
	if err != nil {
		return nil, fmt.Errorf("spec: list %s: %w", dir, err)
	}
	sort.Strings(names)
	var all []*Sabotage
	for _, name := range names {
		base := filepath.Base(name)
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("spec: read %s: %w", base, err)
		}
		s, err := parseSabotage(string(text))
		if err != nil {
			s = &Sabotage{Bad: err}
		}
		s.ID, s.Module, s.Path = strings.TrimSuffix(base, ".txt"), module, path.Join(dir, base)
		all = append(all, s)
	}
	return all, nil
}

// parseSabotage reads the head (name: value lines) and the two texts.
func parseSabotage(text string) (*Sabotage, error) {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	head, rest, ok := strings.Cut(text, "\n-- old --\n")
	if !ok {
		return nil, errors.New("no line \"-- old --\"")
	}
	old, new, ok := strings.Cut("\n"+rest, "\n-- new --\n")
	if !ok {
		return nil, errors.New("no line \"-- new --\": the old text is whole lines")
	}
	s := &Sabotage{Old: strings.TrimPrefix(old+"\n", "\n"), New: new}
	fields := map[string]*string{"row": &s.Row, "file": &s.File, "gate": &s.Gate, "want": &s.Want}
	for _, line := range strings.Split(strings.TrimSpace(head), "\n") {
		name, value, _ := strings.Cut(line, ":")
		field := fields[strings.TrimSpace(name)]
		if field == nil {
			return nil, fmt.Errorf("line %q is none of row, file, gate, want", line)
		}
		*field = strings.TrimSpace(value)
	}
	for _, name := range []string{"row", "file", "gate", "want"} {
		if *fields[name] == "" {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	if slices.Contains(anyFailure, s.Want) {
		return nil, fmt.Errorf("want: %q is what any failure prints: take words of this one", s.Want)
	}
	if s.Old == "" || s.Old == s.New {
		return nil, errors.New("the old text is empty or the same as the new one")
	}
	return s, nil
}

// Apply returns the text of File with the sabotage done, or an error that is
// ErrStale.
func (s *Sabotage) Apply(text string) (string, error) {
	at, n := -1, 0
	for i := 0; i < len(text); {
		if strings.HasPrefix(text[i:], s.Old) {
			at, n = i, n+1
		}
		line := strings.IndexByte(text[i:], '\n') + 1
		if line == 0 {
			break
		}
		i += line
	}
	if n != 1 {
		return "", fmt.Errorf("%w: the old text occurs %d times in %s/%s, want once",
			ErrStale, n, s.Module, s.File)
	}
	return text[:at] + s.New + text[at+len(s.Old):], nil
}

// Command splits the gate into environment settings and arguments. Words may be
// quoted with ' or "; the first argument must be go.
func (s *Sabotage) Command() (env, args []string, err error) {
	words, err := splitWords(s.Gate)
	if err != nil {
		return nil, nil, err
	}
	for len(words) > 0 && strings.Contains(words[0], "=") {
		env, words = append(env, words[0]), words[1:]
	}
	if len(words) < 2 || words[0] != "go" {
		return nil, nil, fmt.Errorf("gate %q is not a go command", s.Gate)
	}
	return env, words, nil
}

func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	started, quote := false, rune(0)
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, started = c, true
		case c == ' ' || c == '\t':
			if started {
				words = append(words, word.String())
			}
			word.Reset()
			started = false
		default:
			word.WriteRune(c)
			started = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("gate %q has an open quote", line)
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}

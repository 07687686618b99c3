// SPDX-License-Identifier: MIT

package options

import (
	"strings"

	"m0serve.dev/http/config"
)

// flag defines one setting: all that the parser, the environment, the help and
// the doctor know about it.
type flag struct {
	name    string   // long spelling without dashes; its key in Options.Sources
	aliases []string // further spellings, with their dashes
	env     string   // variable of ours; "": M0_ and the name in capitals
	foreign []string // variables of platforms and other servers, best first
	value   string   // what the help calls the value; "": a switch, which --no-NAME turns off
	list    bool     // may be repeated; the values of one source add up
	secret  bool     // its value is never printed
	def     string   // default as a value; "": the zero value
	group   string   // heading in the help; "": not in the help
	help    string
	set     setter

	// Flags that are known and not honoured have no set.
	reason string // why it is refused
	cure   string // what to do instead; "": the flag is accepted without effect
	note   string // warning of a flag without effect
}

// variable is the variable of ours that sets the flag, "" for none.
func (f *flag) variable() string {
	switch {
	case f.env == noEnv:
		return ""
	case f.env != "":
		return f.env
	}
	return "M0_" + strings.ToUpper(strings.ReplaceAll(f.name, "-", "_"))
}

// noEnv marks a flag that no variable of ours sets.
const noEnv = "-"

// spellings lists the flag as it can be typed, the long one of ours first.
func (f *flag) spellings() []string {
	return append([]string{"--" + f.name}, f.aliases...)
}

// table finds flags by their spelling.
type table struct {
	flags      []*flag // in the order of the help, those not honoured last
	bySpelling map[string]*flag
}

func newTable() *table {
	t := &table{bySpelling: map[string]*flag{}}
	for _, list := range [][]flag{listening(), application(), processes(), http(), realtime(),
		output(), refused(), ineffective()} {
		for i := range list {
			t.add(&list[i])
		}
	}
	return t
}

func (t *table) add(f *flag) {
	t.flags = append(t.flags, f)
	for _, s := range f.spellings() {
		if t.bySpelling[s] != nil {
			panic("options: two flags are spelled " + s)
		}
		t.bySpelling[s] = f
	}
}

// find looks a spelling up; negated tells that it was --no-NAME of a switch.
func (t *table) find(spelling string) (f *flag, negated bool) {
	if strings.HasPrefix(spelling, "--") {
		spelling = strings.ReplaceAll(spelling, "_", "-")
	}
	if f := t.bySpelling[spelling]; f != nil {
		return f, false
	}
	if name, ok := strings.CutPrefix(spelling, "--no-"); ok {
		if f := t.bySpelling["--"+name]; f != nil && (f.value == "" || f.name == "access-log" ||
			f.name == "control-socket") {
			return f, true
		}
	}
	return nil, false
}

// nearest is the known spelling that is most like the unknown one, "" when
// none is like it.
func (t *table) nearest(unknown string) string {
	var known []string
	for _, f := range t.flags {
		for _, s := range f.spellings() {
			if strings.HasPrefix(s, "--") {
				known = append(known, s)
			}
		}
	}
	return config.Nearest(unknown, known)
}

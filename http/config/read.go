// SPDX-License-Identifier: MIT

package config

import (
	"errors"
	"fmt"
	"strings"
)

// Read sets every one of the settings: to what args (a command line without the
// name of the program) say, else to what its variable says, else to its default.
// An empty variable counts as unset, as docker and systemd files write one.
//
// The error joins one *Error for each thing that cannot be honoured, and the
// setting has its default then. What was given comes back in the order of the
// settings. A default that its own Set refuses, and a flag that two settings have,
// are mistakes of the program and panic.
func Read(
	settings []Setting, args []string, lookup func(name string) (string, bool),
) ([]Given, error) {
	r := reader{settings: settings, spellings: spellingsOf(settings), lookup: lookup,
		flags: make(map[*Setting]occurrence)}
	r.scan(args)
	var given []Given
	for i := range settings {
		s := &settings[i]
		if s.Default != "" {
			if err := s.Set(s.Default); err != nil {
				panic(fmt.Sprintf("config: the default of %s%s is refused: %v", s.Env, s.Flag, err))
			}
		}
		if o, ok := r.choose(s); ok {
			given = append(given, r.set(s, o))
		}
	}
	return given, errors.Join(r.wrong...)
}

// An occurrence is one value as it was given.
type occurrence struct {
	value string
	name  string // of the variable, or the flag as it was spelled
}

// reader takes values one by one and collects what is wrong with them.
type reader struct {
	settings  []Setting
	spellings map[string]*Setting
	lookup    func(string) (string, bool)
	flags     map[*Setting]occurrence
	wrong     []error
}

func spellingsOf(settings []Setting) map[string]*Setting {
	all := make(map[string]*Setting)
	for i := range settings {
		s := &settings[i]
		names := s.Aliases
		if s.Flag != "" {
			names = append([]string{"--" + s.Flag}, names...)
		}
		for _, name := range names {
			if all[name] != nil {
				panic("config: two settings have the flag " + name)
			}
			all[name] = s
		}
	}
	return all
}

func (r *reader) refuse(name, value, cure string) {
	r.wrong = append(r.wrong, &Error{Var: name, Value: value, Cure: cure})
}

// scan sorts the arguments; of a flag that comes again the last one counts.
func (r *reader) scan(args []string) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if len(arg) < 2 || arg[0] != '-' || arg == "--" {
			r.refuse("", arg, "leave it out: flags alone are taken; see --help")
			continue
		}
		args = r.scanFlag(arg, args)
	}
}

// scanFlag takes one flag and, from rest, its value; it returns what is left.
func (r *reader) scanFlag(arg string, rest []string) []string {
	name, value, has := strings.Cut(arg, "=")
	s, off := r.find(name)
	switch {
	case s == nil:
		return r.unknown(name, has, rest)
	case s.Value == "" && !has:
		value = "1"
		if off {
			value = "0"
		}
	case off: // --no-x=1
		r.refuse(name, value, "write it without a value")
		return rest
	case !has && (len(rest) == 0 || strings.HasPrefix(rest[0], "--")):
		r.refuse(name, "", "give it a value ("+s.Value+")")
		return rest
	case !has:
		value, rest = rest[0], rest[1:]
	}
	r.flags[s] = occurrence{value, name}
	return rest
}

// find looks a spelling up; off tells that it was --no-FLAG of a switch.
func (r *reader) find(name string) (s *Setting, off bool) {
	if strings.HasPrefix(name, "--") {
		name = strings.ReplaceAll(name, "_", "-")
	}
	if s := r.spellings[name]; s != nil {
		return s, false
	}
	if flag, ok := strings.CutPrefix(name, "--no-"); ok {
		if s := r.spellings["--"+flag]; s != nil && s.Value == "" {
			return s, true
		}
	}
	return nil, false
}

// unknown refuses a flag that is none, with its likeliest meaning, whose value is
// not looked at.
func (r *reader) unknown(name string, has bool, rest []string) []string {
	cure := "there is no such flag: see --help"
	var known []string
	for i := range r.settings {
		if flag := r.settings[i].Flag; flag != "" {
			known = append(known, "--"+flag)
		}
	}
	near := Nearest(name, known)
	if near != "" {
		cure = "there is no such flag: did you mean " + near + "?"
	}
	r.refuse(name, "", cure)
	takes := near == "" || r.spellings[near].Value != ""
	if takes && !has && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return rest[1:]
	}
	return rest
}

// choose finds what was given for the setting, by the best source.
func (r *reader) choose(s *Setting) (occurrence, bool) {
	if o, ok := r.flags[s]; ok {
		return o, true
	}
	if s.Env == "" {
		return occurrence{}, false
	}
	v, ok := r.lookup(s.Env)
	return occurrence{v, s.Env}, ok && v != ""
}

func (r *reader) set(s *Setting, o occurrence) Given {
	shown, source := o.value, o.name
	if s.Secret {
		shown = ""
	}
	if o.name == s.Env {
		source = "$" + s.Env
	}
	if err := s.Set(o.value); err != nil {
		r.refuse(o.name, shown, err.Error())
	}
	return Given{Setting: s, Value: shown, Source: source}
}

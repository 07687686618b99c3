// SPDX-License-Identifier: MIT

package options

import (
	"errors"
	"os"
	"slices"
	"strings"
)

// Parse reads the arguments (without the name of the program) and the
// environment through env (os.LookupEnv in a program, a map in a test). The
// error joins one *Error for each thing that cannot be honoured; see Problems.
// The options are then what could be read, good enough for a doctor to look at
// and not to be served.
func Parse(args []string, env func(string) (string, bool)) (Options, error) {
	return parse(args, env, process{uid: os.Geteuid(), pid: os.Getpid()})
}

// process is what Parse asks about the process it runs in.
type process struct {
	uid int // effective
	pid int
}

// occurrence is one value as it was given.
type occurrence struct {
	value string
	from  Source
}

// parser collects occurrences, then puts the best of each setting into o.
type parser struct {
	table   *table
	process process
	env     environ

	flags     map[string][]occurrence // by the name of the flag
	foreign   map[string][]occurrence // those of GUNICORN_CMD_ARGS
	arguments []occurrence
	swallowed occurrence // the last value, when it may have been the application

	o     Options
	wrong []error
}

func parse(args []string, env func(string) (string, bool), proc process) (Options, error) {
	p := &parser{
		table: newTable(), process: proc, env: environ{process: env},
		flags: map[string][]occurrence{}, foreign: map[string][]occurrence{},
		o: Options{Umask: -1, Sources: map[string]Source{}},
	}
	p.scan(args, "", p.flags)
	if len(p.flags["help"]) > 0 {
		return Options{Help: true}, nil
	}
	if len(p.flags["version"]) > 0 {
		return Options{Version: true}, nil
	}
	p.scanForeign()
	p.loadEnv()
	p.applyDefaults()
	for _, f := range p.table.flags {
		p.apply(f)
	}
	p.finish()
	return p.o, errors.Join(p.wrong...)
}

// refuse notes that the value cannot be honoured; err is the cure.
func (p *parser) refuse(f *flag, given occurrence, err error) {
	e := &Error{Value: given.value, Source: given.from, Cure: err.Error()}
	if f != nil {
		e.Option = "--" + f.name
		if f.secret {
			e.Value = ""
		}
	}
	p.wrong = append(p.wrong, e)
}

// scan sorts the arguments into the flags of into and, when they are those of
// the command line (in is ""), the positional ones.
func (p *parser) scan(args []string, in string, into map[string][]occurrence) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			for _, a := range args {
				p.argument(a, in)
			}
			return
		case len(arg) < 2 || arg[0] != '-':
			p.argument(arg, in)
		default:
			args = p.scanFlag(arg, args, in, into)
		}
	}
}

func (p *parser) argument(v, in string) {
	p.arguments = append(p.arguments, occurrence{v, Source{Kind: FromFlag, In: in}})
}

// scanFlag takes one flag and, from rest, its value; it returns what is left.
func (p *parser) scanFlag(arg string, rest []string, in string,
	into map[string][]occurrence) []string {
	spelling, value, has := splitFlag(arg)
	from := Source{Kind: FromFlag, Name: spelling, In: in}
	f, negated := p.table.find(spelling)
	if f == nil {
		near := p.unknown(spelling, from)
		if near != nil && near.value != "" && !has && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
			return rest[1:] // its value, in all likelihood
		}
		return rest
	}
	switch {
	case negated:
		value = "0"
	case f.value == "" && !has:
		value = "1"
	case !has && len(rest) == 0:
		p.refuse(f, occurrence{"", from}, errors.New("give it a value ("+f.value+")"))
		return rest
	case !has:
		value, rest = rest[0], rest[1:]
		p.swallowed = occurrence{value, from}
	}
	into[f.name] = append(into[f.name], occurrence{value, from})
	return rest
}

// splitFlag cuts --name=value, -w4 and -w=4.
func splitFlag(arg string) (spelling, value string, has bool) {
	if strings.HasPrefix(arg, "--") {
		return strings.Cut(arg, "=")
	}
	if len(arg) == 2 {
		return arg, "", false
	}
	return arg[:2], strings.TrimPrefix(arg[2:], "="), true
}

// unknown refuses a flag that the table does not have, with its likeliest
// meaning, which it returns when there is one.
func (p *parser) unknown(spelling string, from Source) *flag {
	e := &Error{Source: from, Reason: "there is no such option", Cure: "see m0serve --help"}
	p.wrong = append(p.wrong, e)
	if strings.HasPrefix(spelling, "--ssl-") || strings.HasPrefix(spelling, "--tls-") {
		e.Reason, e.Cure = noTLS, cutTLS
	} else if near := p.table.nearest(spelling); near != "" {
		e.Cure = "did you mean " + near + "?"
		return p.table.bySpelling[near]
	}
	return nil
}

// envGunicorn holds a command line of gunicorn's.
const envGunicorn = "GUNICORN_CMD_ARGS"

// scanForeign reads GUNICORN_CMD_ARGS as gunicorn does. It comes before the
// environment files, which it may name.
func (p *parser) scanForeign() {
	line, from, ok := p.env.lookup(envGunicorn)
	if !ok {
		return
	}
	words, err := splitWords(line)
	if err != nil {
		p.refuse(nil, occurrence{"", from}, err)
		return
	}
	arguments, swallowed := p.arguments, p.swallowed
	p.scan(words, envGunicorn, p.foreign)
	p.swallowed = swallowed
	for _, a := range p.arguments[len(arguments):] {
		p.refuse(nil, a, errors.New("leave it out; only options are read there"))
	}
	p.arguments = arguments
}

// choose returns the occurrences of the best source that has the flag.
func (p *parser) choose(f *flag) []occurrence {
	if list := p.flags[f.name]; len(list) > 0 {
		return list
	}
	if v, from, ok := p.env.lookup(f.variable()); ok && f.variable() != "" {
		return []occurrence{{v, from}}
	}
	if list := p.foreign[f.name]; len(list) > 0 {
		return list
	}
	for _, name := range f.foreign {
		if v, from, ok := p.env.lookup(name); ok {
			return []occurrence{{v, from}}
		}
	}
	return nil
}

// applyDefaults gives every setting its default, but for lists that were given.
func (p *parser) applyDefaults() {
	for _, f := range p.table.flags {
		if f.def == "" || f.list && len(p.choose(f)) > 0 {
			continue
		}
		if err := f.set(&p.o, f.def); err != nil {
			panic("options: the default of --" + f.name + " is refused: " + err.Error())
		}
	}
}

// apply sets what was given for the flag: all of a list, else the last one.
func (p *parser) apply(f *flag) {
	list := p.choose(f)
	if len(list) == 0 {
		return
	}
	if !f.list {
		list = list[len(list)-1:]
	}
	for _, given := range list {
		switch {
		case f.cure != "":
			p.refuseFlag(f, given)
		case f.set == nil:
			p.o.warn(ineffectiveWarning(f, given))
		default:
			if err := f.set(&p.o, given.value); err != nil {
				p.refuse(f, given, err)
			}
		}
	}
	p.note(f, list)
}

// note remembers what gave the setting.
func (p *parser) note(f *flag, list []occurrence) {
	from := list[len(list)-1].from
	if !f.secret {
		values := make([]string, len(list))
		for i, given := range list {
			values[i] = given.value
		}
		from.Value = strings.Join(values, ",")
	}
	p.o.Sources[f.name] = from
}

// refuseFlag refuses a flag that is known and not honoured, unless it asks for
// nothing (--no-daemon).
func (p *parser) refuseFlag(f *flag, given occurrence) {
	if off, ok := parseBool(given.value); f.value == "" && ok && !off {
		return
	}
	if f.value == "" {
		given.value = ""
	}
	p.refuse(f, given, errors.New(f.cure))
	p.wrong[len(p.wrong)-1].(*Error).Reason = f.reason
}

func ineffectiveWarning(f *flag, given occurrence) string {
	e := Error{Option: "--" + f.name, Value: given.value, Source: given.from}
	if f.value == "" {
		e.Value = ""
	}
	return e.Subject() + " has no effect: " + f.note
}

// has tells whether the flag was given at all.
func (p *parser) has(name string) bool {
	_, ok := p.o.Sources[name]
	return ok
}

// rank orders sources: flags, then our variables, then foreign ones.
func (p *parser) rank(name string) int {
	f := p.table.bySpelling["--"+name]
	switch from := p.o.Sources[name]; {
	case from.Kind == FromFlag && from.In == "":
		return 3
	case from.Kind == FromEnv && !slices.Contains(f.foreign, from.Name):
		return 2
	case from.Kind != "":
		return 1
	}
	return 0
}

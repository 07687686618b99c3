// SPDX-License-Identifier: MIT

package options

import (
	"errors"
	"slices"
	"strings"
)

// environ answers for variables: those of -e first, then the process, then the
// environment files, the last file first.
type environ struct {
	process func(string) (string, bool)
	set     map[string]string // by -e
	files   []envFile         // in the order given
}

type envFile struct {
	name string
	vars map[string]string
}

// lookup finds a variable and what set it. An empty value counts as unset, as
// docker and systemd files write an unset variable.
func (e *environ) lookup(name string) (value string, from Source, ok bool) {
	from = Source{Kind: FromEnv, Name: name}
	if v := e.set[name]; v != "" {
		from.In = "-e"
		return v, from, true
	}
	if v, _ := e.process(name); v != "" {
		return v, from, true
	}
	for _, f := range slices.Backward(e.files) {
		if v := f.vars[name]; v != "" {
			from.In = f.name
			return v, from, true
		}
	}
	return "", Source{}, false
}

// added is what the workers' environment gets beside that of the process.
func (e *environ) added() map[string]string {
	vars := map[string]string{}
	for _, f := range e.files {
		for name, value := range f.vars {
			if _, ok := e.process(name); !ok {
				vars[name] = value
			}
		}
	}
	for name, value := range e.set {
		vars[name] = value
	}
	delete(vars, envDSN)
	if len(vars) == 0 {
		return nil
	}
	return vars
}

// isInherited tells whether the name is one that a supervisor hands to its
// workers, which nobody else may set.
func isInherited(name string) bool {
	switch name {
	case "M0_WORKER_SPAWNED", "M0_WORKER_INDEX", "M0_LISTEN_FD", "M0_SHARED_ID_FD",
		"M0_APP_PAGE_FD", "M0_BUS_FDS", "M0_BUS_READ_FD", "M0_ACCEPT_FDS", "M0_LIFE_FD",
		"M0_PUBLISH_FD", "M0_PUBLISH_HTTP_FD", "M0_PUBLISH_SOCKET":
		return true
	}
	return strings.HasPrefix(name, "M0_SERVE_") // of package serve
}

// loadEnv reads -e and the environment files, which every other setting may
// come from.
func (p *parser) loadEnv() {
	f := p.table.bySpelling["--env"]
	p.env.set = map[string]string{}
	for _, given := range p.choose(f) {
		name, value, ok := strings.Cut(given.value, "=")
		if err := checkVariable(name, value, ok); err != nil {
			p.refuse(f, given, err)
			continue
		}
		p.env.set[name] = value
	}
	f = p.table.bySpelling["--env-file"]
	for _, given := range p.choose(f) {
		for file := range strings.SplitSeq(given.value, ",") {
			p.loadEnvFile(f, occurrence{strings.TrimSpace(file), given.from})
		}
	}
	p.o.Env = p.env.added()
}

func (p *parser) loadEnvFile(f *flag, given occurrence) {
	vars, err := readEnvFile(given.value)
	for name := range vars {
		if err == nil && isInherited(name) {
			err = errors.New("leave " + name + " out of it; a supervisor sets it")
		}
	}
	if err != nil {
		p.refuse(f, given, err)
		return
	}
	p.env.files = append(p.env.files, envFile{given.value, vars})
}

// checkVariable returns the cure of a variable that -e cannot set. The value,
// which may be a secret, is not repeated.
func checkVariable(name, value string, ok bool) error {
	switch {
	case !ok || !isVariable(name):
		return errors.New("write it as NAME=VALUE")
	case strings.ContainsRune(value, 0):
		return errors.New("leave the NUL byte of " + name + " out")
	case isInherited(name):
		return errors.New("leave " + name + " out; a supervisor sets it")
	}
	return nil
}

// SPDX-License-Identifier: MIT

package doctor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"m0serve.dev/http/config/diagnosis"
	"m0serve.dev/http/publish"
	"m0serve.dev/wsgi/internal/options"
	"m0serve.dev/wsgi/pglisten"
)

const doors = "Doors"

// doors reports on the ways in which others publish: the publish socket, the HTTP door
// and Postgres.
func (r *Report) doors(c *Config) {
	r.socket(c)
	r.httpDoor(&c.Options)
	r.postgres(&c.Options)
}

// socket looks for the publish socket where m0serve would make it.
func (r *Report) socket(c *Config) {
	const label = "publish socket"
	given := variable(c.Environ, publish.Env)
	if given == publish.Off {
		r.Add(doors, Note, label, "none, by $"+publish.Env, "")
		return
	}
	name, isKnown := listenerName(&c.Options)
	path, err := publish.Look(publish.ListenConfig{Path: given, Dir: c.Options.Chdir, Name: name})
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		r.Add(doors, Note, label, "none: this system does not tell who connects to one", "")
	case err != nil && given != "":
		r.Add(doors, Problem, label, err.Error(), publish.ListenCure)
	case err != nil: // m0serve goes on without one that nobody asked for
		r.Add(doors, Warning, label, err.Error(), "name a path with "+publish.Env)
	default:
		if given == "" && !isKnown {
			path = filepath.Join(filepath.Dir(path), "*.sock")
		}
		r.Add(doors, Good, label, path+", "+isThereNow(path)+"; for processes of user "+
			fmt.Sprint(os.Geteuid())+" and root", "")
	}
}

// isThereNow says what is at a path that m0serve would take.
func isThereNow(path string) string {
	if isThere(path) {
		return "where nobody listens; m0serve takes it"
	}
	return "not there yet; m0serve makes it"
}

// listenerName is what m0serve calls itself by its first address, and whether it can be
// known before the kernel has chosen a port.
func listenerName(o *options.Options) (name string, isKnown bool) {
	if len(o.Binds) == 0 {
		return "", false
	}
	b := o.Binds[0]
	switch b.Network {
	case "unix":
		return b.Address, true
	case "tcp":
		at, err := net.ResolveTCPAddr("tcp", b.Address)
		return fmt.Sprint(at), err == nil && at.Port != 0
	}
	return "", false
}

// httpDoor tries --publish-http and says whose key opens it.
func (r *Report) httpDoor(o *options.Options) {
	const label = "publish-http"
	if o.PublishHTTP == "" {
		r.Add(doors, Note, label, "not given; publishers of GRIP have no address", "")
		return
	}
	source := " (" + o.Source(label).String() + ")"
	if problem, cure := diagnosis.TryListen(o.PublishHTTP, "--"+label); problem != "" {
		r.Add(doors, Problem, label, o.PublishHTTP+" "+problem+source, cure)
		return
	}
	text := "http://" + o.PublishHTTP + "/publish/" + source
	switch host, _, _ := net.SplitHostPort(o.PublishHTTP); {
	case o.PublishKey != nil:
		r.Add(doors, Good, label, text+"; for who has the key", "")
	case net.ParseIP(host).IsLoopback() || host == "localhost":
		r.Add(doors, Good, label, text+"; for this machine alone, with a key that m0serve makes", "")
	default:
		r.Add(doors, Warning, label, text+"; other machines reach it and are refused, since there "+
			"is no key for them", "set M0_PUBLISH_KEY, or use 127.0.0.1")
	}
}

// postgres says where m0serve would listen, and connects to nothing.
func (r *Report) postgres(o *options.Options) {
	const label = "postgres"
	if o.PGListen == "" {
		r.Add(doors, Note, label, "not given", "")
		return
	}
	source := " (" + o.Source("pg-listen").String() + ")"
	dsn, err := pglisten.ParseDSN(o.PGListen)
	if err != nil {
		r.Add(doors, Problem, label, strings.TrimPrefix(err.Error(), "pglisten: ")+source,
			"mend it there")
		return
	}
	r.Add(doors, Note, label, dsn.String()+source+"; not connected to", "")
}

// variable is the value of a variable of an environment, the last one counts.
func variable(env []string, name string) (value string) {
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// SPDX-License-Identifier: MIT

package host

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"m0serve.dev/http/config"
	"m0serve.dev/http/worker"
)

// options are what one process of an application was told.
type options struct {
	app         *App
	cfg         config.App
	certificate *certificate // nil: no TLS
	asked       asked
	given       []config.Given
	refused     map[string]bool  // of a doctor: what is wrong, as it was given
	settings    []config.Setting // all, in the order of the help
}

// asked is what a command line may ask for in place of serving.
type asked struct{ help, doctor, version bool }

// read reads the command line and the environment, and refuses what this
// application or this system cannot honour (contract rows O7 and P6), every
// problem at once.
func read(app *App, lookup func(string) (string, bool)) (options, error) {
	o := options{app: app}
	o.settings = slices.Concat(o.cfg.Settings(), app.grouped(), o.asked.settings())
	var err error
	o.given, err = config.Read(o.settings, app.Args, lookup)
	err = errors.Join(err, refuseFork(lookup), o.refuseWorkers(), o.refuseTLS())
	return o, err
}

// misspelt are the variables that were meant for a setting and miss its name by a little.
func (o *options) misspelt() []*config.Error {
	var known []string
	for _, s := range o.settings {
		known = append(known, s.Env)
	}
	return config.Misspelt(os.Environ(), known)
}

// settings are the flags that only print something.
func (a *asked) settings() []config.Setting {
	const group = "Checks"
	return []config.Setting{
		{Flag: "doctor", Aliases: []string{"--check-config"}, Group: group,
			Help: "what would be served, what is wrong", Set: config.Switch(&a.doctor)},
		{Flag: "version", Aliases: []string{"-v"}, Group: group,
			Help: "of the program and of what it is made of", Set: config.Switch(&a.version)},
		{Flag: "help", Aliases: []string{"-h"}, Group: group,
			Help: "this", Set: config.Switch(&a.help)},
	}
}

// grouped are the application's settings under a heading of their own.
func (a *App) grouped() []config.Setting {
	list := slices.Clone(a.Settings)
	for i := range list {
		if list[i].Group == "" {
			list[i].Group = a.name()
		}
	}
	return list
}

// wrong is a problem with the setting of that variable, by the name it was given
// under.
func (o *options) wrong(env, cure string) error {
	e := &config.Error{Var: env, Cure: cure}
	if g := o.find(env); g != nil {
		e.Var, e.Value = strings.TrimPrefix(g.Source, "$"), g.Value
	}
	return e
}

// subject is a setting as it was given, `--port "80"`, or its variable.
func (o *options) subject(env string) string {
	if g := o.find(env); g != nil {
		return (&config.Error{Var: strings.TrimPrefix(g.Source, "$"), Value: g.Value}).Subject()
	}
	return env
}

// find is what was given for the setting of that variable, nil for nothing.
func (o *options) find(env string) *config.Given {
	for i := range o.given {
		if o.given[i].Setting.Env == env {
			return &o.given[i]
		}
	}
	return nil
}

// source is where the value of a setting came from: "--port", "$M0_PORT" or "".
func (o *options) source(env string) string {
	if g := o.find(env); g != nil {
		return g.Source
	}
	return ""
}

// refuseFork refuses workers that are forked: Go executes them, always.
func refuseFork(lookup func(string) (string, bool)) error {
	const name = "M0_SPAWN_WORKERS"
	v, _ := lookup(name)
	switch strings.ToLower(v) {
	case "0", "false", "no", "off":
		return &config.Error{Var: name, Value: v,
			Cure: "workers are always executed, never forked: unset it"}
	}
	return nil
}

func (o *options) refuseWorkers() error {
	most, why := worker.MaxWorkers, "this system"
	if o.app.MaxWorkers > 0 && o.app.MaxWorkers < most {
		most, why = o.app.MaxWorkers, o.app.name()
	}
	if o.cfg.Workers <= most {
		return nil
	}
	return o.wrong("M0_WORKERS",
		fmt.Sprintf("%s serves from %d at most: set it to that or less", why, most))
}

// refuseTLS loads the certificate, and refuses half a pair and what needs loops.
func (o *options) refuseTLS() error {
	const cert, key = "M0_TLS_CERT", "M0_TLS_KEY"
	switch {
	case o.cfg.TLSCert == "" && o.cfg.TLSKey == "":
		return nil
	case o.cfg.TLSKey == "":
		return o.wrong(cert, "its key is missing: name the file with --tls-key or "+key)
	case o.cfg.TLSCert == "":
		return o.wrong(key, "its certificate is missing: name the file with --tls-cert or "+cert)
	}
	var err error
	for _, needsLoops := range []struct {
		env   string
		given bool
	}{{"M0_THREADS", o.cfg.Threads > 1}, {"M0_BLOCKING_THREADS", o.cfg.BlockingThreads > 0}} {
		if needsLoops.given {
			err = errors.Join(err, o.wrong(needsLoops.env, "with TLS every handler has a "+
				"goroutine of its own, and there are no loops: leave it out"))
		}
	}
	c, errPair := loadCertificate(o.cfg.TLSCert, o.cfg.TLSKey, o.app.Log)
	var bad *pairError
	switch {
	case errPair == nil:
		o.certificate = c
	case errors.As(errPair, &bad) && bad.key:
		err = errors.Join(err, o.wrong(key, bad.text()))
	case errors.As(errPair, &bad):
		err = errors.Join(err, o.wrong(cert, bad.text()))
	}
	return err
}

// scheme is that of the service's URL.
func (o *options) scheme() string {
	if o.certificate != nil {
		return "https"
	}
	return "http"
}

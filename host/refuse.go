// SPDX-License-Identifier: MIT

package host

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"m0serve.dev/http/config"
	"m0serve.dev/http/worker"
)

// settings reads the environment and refuses what this application or this
// system cannot honour (contract rows O7 and P6), every problem at once.
func settings(app *App, lookup func(string) (string, bool)) (config.App, error) {
	cfg, err := config.Parse(lookup)
	return cfg, errors.Join(err, refuseFork(lookup), refuseWorkers(app, cfg.Workers))
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

func refuseWorkers(app *App, workers int) error {
	most, why := worker.MaxWorkers, "this system"
	if app.MaxWorkers > 0 && app.MaxWorkers < most {
		most, why = app.MaxWorkers, app.name()
	}
	if workers <= most {
		return nil
	}
	return &config.Error{Var: "M0_WORKERS", Value: strconv.Itoa(workers),
		Cure: fmt.Sprintf("%s serves from %d at most: set it to that or less", why, most)}
}

// a refusal is a start that cannot succeed however often it is tried.
type refusal struct{ cause error }

func (r refusal) Error() string { return r.cause.Error() }
func (r refusal) Unwrap() error { return r.cause }

// explain prints why the service ends and returns the exit status for it.
func explain(w io.Writer, err error) int {
	if err == nil || errors.Is(err, errStopped) {
		return exitClean
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(w, "host: %s\n", strings.TrimSuffix(line, "\n"))
	}
	var wrong *config.Error
	if errors.As(err, &wrong) || errors.As(err, &refusal{}) {
		return config.ExitConfig
	}
	return exitFailure
}

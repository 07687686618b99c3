// SPDX-License-Identifier: MIT

package host

import (
	"io"
	"log/slog"
	"os"
)

// Exit statuses; config.ExitConfig is the third.
const (
	exitClean   = 0
	exitFailure = 1
)

// Main runs the application, as the command line and the environment have it, and
// ends the process. It is all that an application's main has to call, and it does
// not return.
func Main(app App) { os.Exit(Run(app)) }

// Run is Main without the end of the process: it answers --help, --doctor or
// --version, or serves until SIGTERM or SIGINT, or until the service cannot go on,
// and returns the exit status. It
// takes the process over (signals, children, standard error), so a program
// calls it once; a producer's step that was abandoned may still be running when
// it returns, so the process should end.
func Run(app App) int {
	if app.Handler == nil {
		panic("host: App.Handler is nil: an application has to build a handler")
	}
	if app.Args == nil {
		app.Args = os.Args[1:]
	}
	return run(app, os.Stdout, os.Stderr)
}

// run is Run with the place where answers go, and that of banner and refusals.
func run(app App, stdout, stderr io.Writer) int {
	if app.Log == nil {
		app.Log = slog.New(slog.NewTextHandler(stderr, nil))
	}
	o, err := read(&app, os.LookupEnv)
	if o.asked != (asked{}) {
		return o.answer(stdout, err)
	}
	if err != nil {
		return explain(stderr, err)
	}
	return (&service{stderr: stderr, log: app.Log, options: o}).run()
}

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

// Main runs the application and ends the process. It is all that an
// application's main has to call, and it does not return.
func Main(app App) { os.Exit(Run(app)) }

// Run is Main without the end of the process: it serves until SIGTERM or
// SIGINT, or until the service cannot go on, and returns the exit status. It
// takes the process over (signals, children, standard error), so a program
// calls it once; a producer's step that was abandoned may still be running when
// it returns, so the process should end.
func Run(app App) int {
	if app.Handler == nil {
		panic("host: App.Handler is nil: an application has to build a handler")
	}
	return run(app, os.Stderr)
}

// run is Run with the place where the banner and refusals go.
func run(app App, stderr io.Writer) int {
	if app.Log == nil {
		app.Log = slog.New(slog.NewTextHandler(stderr, nil))
	}
	return (&service{app: &app, stderr: stderr, log: app.Log}).run()
}

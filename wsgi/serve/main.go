// SPDX-License-Identifier: MIT

package serve

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"m0serve.dev/http/config"
	"m0serve.dev/http/worker"
	"m0serve.dev/wsgi/doctor"
	"m0serve.dev/wsgi/internal/accesslog"
	"m0serve.dev/wsgi/internal/options"
)

// Exit statuses; config.ExitConfig is the third.
const (
	exitClean   = 0
	exitFailure = 1
)

// Version is that of all modules.
const Version = "0.1.0"

// Main is the command m0serve. It returns the exit status.
func Main(args []string) int {
	if _, worker := os.LookupEnv(worker.EnvSpawned); worker {
		return embedded()
	}
	o, err := options.Parse(args, os.LookupEnv)
	o.WarnMisspelt(os.Environ())
	switch {
	case o.Doctor:
		self, _ := os.Executable() // without it, one check less
		alone := engineBeside(self) == ""
		return doctor.Run(context.Background(), doctor.Config{Options: o, Problems: err,
			Command: self, Embedded: alone, NoEngine: alone && !canEmbed, Version: Version}, os.Stdout)
	case err != nil:
		return refuse(os.Stderr, err)
	case o.Help:
		fmt.Print(options.Help())
		return exitClean
	case o.Version:
		fmt.Println("m0serve " + Version)
		return exitClean
	}
	if o.AccessLog != "" {
		if err := accesslog.Check(o.AccessLogFormat); err != nil {
			return refuse(os.Stderr, fmt.Errorf("--access-logformat: %w", err))
		}
	}
	for _, err := range []error{unsupported(&o), checkPostgres(&o)} {
		if err != nil {
			return refuse(os.Stderr, err)
		}
	}
	runtime.UnlockOSThread() // of package main; only a worker needs the main thread
	return supervise(o)
}

// refuse prints a problem of the configuration.
func refuse(w io.Writer, err error) int {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(w, "m0serve: %s\n", strings.TrimSuffix(line, "\n"))
	}
	return config.ExitConfig
}

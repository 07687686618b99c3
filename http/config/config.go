// SPDX-License-Identifier: MIT

// Package config reads an application's settings from the environment.
//
// Every variable has a default, a range and a sentence that says how to mend
// it. A value that cannot be honoured is never replaced in silence: Parse
// reports each one as an *Error, and the hosts exit 78 before anything is
// bound. The package reads and checks; it opens nothing and changes nothing.
package config

import (
	"os"
	"time"
)

// ExitConfig is the exit status of a process that was configured wrongly
// (EX_CONFIG of sysexits.h). A supervisor does not respawn after it.
const ExitConfig = 78

// App holds the settings that every application of the house understands
// (contract row H6). The zero value is not the default: use Parse or FromEnv.
type App struct {
	Host            string        // M0_HOST: address to listen on
	Port            int           // M0_PORT: 0 asks the kernel for a free one
	Workers         int           // M0_WORKERS: processes that serve
	Threads         int           // M0_THREADS: loops in each worker
	BlockingThreads int           // M0_BLOCKING_THREADS: handlers off the loop; 0: the default
	AcceptShare     bool          // M0_ACCEPT_SHARE: hand accepted connections to idler workers
	Drain           time.Duration // M0_DRAIN_S: bound on a graceful shutdown
	MaxBody         int64         // M0_MAX_BODY: bytes of a request body
	MaxHead         int           // M0_MAX_HEAD: bytes of a request head, half of it for one line
	MaxConns        int           // M0_MAX_CONNS: connections of one worker
	Journal         int           // M0_JOURNAL: frames kept for each channel
	DB              string        // M0_DB: database file; "" leaves it to the application
	DatastarJS      string        // M0_DATASTAR_JS: URL or file of the Datastar client; "": pinned URL
}

// FromEnv parses the environment of this process.
func FromEnv() (App, error) { return Parse(os.LookupEnv) }

// Parse reads the settings through lookup (os.LookupEnv in a program, a map in
// a test). The error joins one *Error for each value that cannot be honoured;
// App then holds the defaults in their place and must not be served.
func Parse(lookup func(name string) (string, bool)) (App, error) {
	r := reader{lookup: lookup}
	app := App{
		Host:            r.text("M0_HOST", "127.0.0.1"),
		Port:            int(r.number("M0_PORT", 8080, 0, 65535)),
		Workers:         int(r.number("M0_WORKERS", 1, 1, WorkersMax)),
		Threads:         int(r.number("M0_THREADS", 1, 1, threadsMax)),
		BlockingThreads: int(r.number("M0_BLOCKING_THREADS", 0, 0, blockingMax)),
		AcceptShare:     r.flag("M0_ACCEPT_SHARE", true),
		Drain:           r.seconds("M0_DRAIN_S", 5*time.Second, drainMax),
		MaxBody:         r.bytes("M0_MAX_BODY", 10<<20, 0, 1<<40),
		MaxHead:         int(r.bytes("M0_MAX_HEAD", 64<<10, 1<<10, 1<<20)),
		MaxConns:        int(r.number("M0_MAX_CONNS", 65536, 1, 1<<22)),
		Journal:         int(r.number("M0_JOURNAL", 64, 0, 1<<20)),
		DB:              r.text("M0_DB", ""),
		DatastarJS:      r.text("M0_DATASTAR_JS", ""),
	}
	return app, r.problems()
}

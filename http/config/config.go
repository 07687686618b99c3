// SPDX-License-Identifier: MIT

// Package config reads an application's settings from its command line and its
// environment.
//
// A Setting says once what there is to know about one thing that can be set: its
// flag, its variable, default, range, and a sentence for the help. A flag wins over
// the variable, that over the default. A value that cannot be honoured is never
// replaced in silence: Read reports each one as an *Error, and the hosts exit 78
// before anything is bound.
//
// App has the settings that every application of the house understands; an
// application adds its own by a few more Settings. The package reads and checks;
// it opens nothing and changes nothing.
package config

import (
	"os"
	"time"
)

// ExitConfig is the exit status of a process that was configured wrongly
// (EX_CONFIG of sysexits.h). A supervisor does not respawn after it.
const ExitConfig = 78

// App holds the settings that every application of the house understands
// (contract row H6). The zero value is not the default: use Parse or FromEnv, or
// Read its Settings.
type App struct {
	Host            string        // M0_HOST: address to listen on
	Port            int           // M0_PORT: 0 asks the kernel for a free one
	TLSCert         string        // M0_TLS_CERT: file of the chain, PEM; "": no TLS
	TLSKey          string        // M0_TLS_KEY: file of its private key, PEM
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
	PublishSocket   string        // M0_PUBLISH_SOCKET: its path; "": by the directory; "off": none
	DatastarJS      string        // M0_DATASTAR_JS: URL or file of the Datastar client; "": pinned URL
}

// FromEnv parses the environment of this process.
func FromEnv() (App, error) { return Parse(os.LookupEnv) }

// Parse reads the settings through lookup (os.LookupEnv in a program, a map in
// a test). The error joins one *Error for each value that cannot be honoured;
// App then holds the defaults in their place and must not be served.
func Parse(lookup func(name string) (string, bool)) (App, error) {
	var app App
	_, err := Read(app.Settings(), nil, lookup)
	return app, err
}

const (
	// WorkersMax is the largest M0_WORKERS: the shared page has a line for each.
	WorkersMax = 64

	threadsMax  = 64
	blockingMax = 100_000
	drainMax    = time.Hour
)

// Settings are those of a, in the order of the help. Reading them fills a.
func (a *App) Settings() []Setting {
	return append(a.listening(), a.limits()...)
}

func (a *App) listening() []Setting {
	const listening, processes = "Listening", "Processes"
	return []Setting{
		{Flag: "host", Env: "M0_HOST", Value: "HOST", Default: "127.0.0.1", Group: listening,
			Help: "0.0.0.0: every address", Set: Host(&a.Host)},
		{Flag: "port", Env: "M0_PORT", Value: "N", Default: "8080", Group: listening,
			Help: "0: any free one", Set: Number(&a.Port, 0, 65535)},
		{Flag: "tls-cert", Env: "M0_TLS_CERT", Value: "FILE", Group: listening,
			Help: "certificate chain, PEM: HTTPS and HTTP/2", Set: Text(&a.TLSCert)},
		{Flag: "tls-key", Env: "M0_TLS_KEY", Value: "FILE", Group: listening,
			Help: "its private key, PEM", Set: Text(&a.TLSKey)},

		{Flag: "workers", Aliases: []string{"-w"}, Env: "M0_WORKERS", Value: "N", Default: "1",
			Group: processes, Help: "processes that serve", Set: Number(&a.Workers, 1, WorkersMax)},
		{Flag: "threads", Aliases: []string{"--loops"}, Env: "M0_THREADS", Value: "N", Default: "1",
			Group: processes, Help: "event loops of each worker",
			Set: Number(&a.Threads, 1, threadsMax)},
		{Flag: "blocking-threads", Env: "M0_BLOCKING_THREADS", Value: "N", Default: "0",
			Group: processes, Help: "handlers of a worker that may block at once; 0: 1024",
			Set: Number(&a.BlockingThreads, 0, blockingMax)},
		{Flag: "accept-share", Env: "M0_ACCEPT_SHARE", Default: "1", Group: processes,
			Help: "do not even out connections", Set: Switch(&a.AcceptShare)},
		{Flag: "drain-s", Aliases: []string{"--graceful-timeout"}, Env: "M0_DRAIN_S",
			Value: "SECONDS", Default: "5", Group: processes,
			Help: "for requests to end at a stop", Set: Seconds(&a.Drain, drainMax)},
	}
}

func (a *App) limits() []Setting {
	const limits, realtime, files = "Limits", "Realtime", "Application"
	return []Setting{
		{Flag: "max-body", Aliases: []string{"--limit-request-body"}, Env: "M0_MAX_BODY",
			Value: "BYTES", Default: "10M", Group: limits,
			Help: "larger bodies get 413; 0: any", Set: Bytes(&a.MaxBody, 0, 1<<40)},
		{Flag: "max-head", Aliases: []string{"--limit-head-bytes"}, Env: "M0_MAX_HEAD",
			Value: "BYTES", Default: "64K", Group: limits,
			Help: "larger heads get 431", Set: Bytes(&a.MaxHead, 1<<10, 1<<20)},
		{Flag: "max-conns", Env: "M0_MAX_CONNS", Value: "N", Default: "65536", Group: limits,
			Help: "connections of a worker, then 503", Set: Number(&a.MaxConns, 1, 1<<22)},

		{Flag: "journal", Env: "M0_JOURNAL", Value: "N", Default: "64", Group: realtime,
			Help: "events kept of each channel", Set: Number(&a.Journal, 0, 1<<20)},
		{Flag: "publish-socket", Env: "M0_PUBLISH_SOCKET", Value: "PATH", Group: realtime,
			Help: "for other processes; off: none", Set: Text(&a.PublishSocket)},

		{Flag: "db", Env: "M0_DB", Value: "FILE", Group: files,
			Help: "database, of one that has any", Set: Text(&a.DB)},
		{Flag: "datastar-js", Env: "M0_DATASTAR_JS", Value: "URL", Group: files,
			Help: "Datastar client: a URL or a file", Set: Text(&a.DatastarJS)},
	}
}

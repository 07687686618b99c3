// SPDX-License-Identifier: MIT

package options

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Options is what one m0serve was told. Parse makes it; its zero value serves
// nothing.
type Options struct {
	App       App
	Interface string   // "auto", "wsgi" or "asgi"
	Lifespan  string   // "auto", "on" or "off"
	RootPath  string   // "" or "/prefix" without a slash at its end
	Validate  bool     // wsgiref.validate around the application
	Static    []Static // served before the application is asked

	Chdir      string   // absolute; "": where it was started
	PythonPath []string // absolute; go to the front of sys.path in this order
	Python     string   // executable or its name; "": to be found
	Venv       string   // absolute; "": to be found
	// Env holds what -e and --env-file add to the environment of the process.
	Env map[string]string

	Binds       []Bind // at least one once Parse succeeded
	Backlog     int
	AcceptShare bool // accepted connections go to the least busy worker

	Workers           int
	Threads           int           // Python threads of each worker
	Loops             int           // event loops of each worker
	Timeout           time.Duration // of one request on a Python thread; 0: none
	GracefulTimeout   time.Duration // bound on a drain
	MaxRequests       int           // after which a worker is replaced; 0: never
	MaxRequestsJitter int           // added at random to MaxRequests
	MaxRSS            int64         // bytes, above which a worker is replaced; 0: never

	Reload        bool
	ReloadDirs    []string // absolute; none: Chdir
	ReloadInclude []string // file patterns
	ReloadExclude []string // file patterns

	PidFile string // absolute; "": none
	User    string // name or number; "": stay
	Group   string // name or number; "": stay
	Umask   int    // -1: as inherited

	KeepAlive          time.Duration // between two requests of a connection
	HeaderTimeout      time.Duration // for a whole head
	LimitConcurrency   int           // requests in the application at once; 0: no limit
	MaxConns           int           // connections of one worker
	LimitRequestBody   int64         // bytes; 0: no limit
	LimitRequestLine   int           // bytes of the request line or of one field line
	LimitRequestFields int           // fields of one head
	LimitHeadBytes     int           // bytes of one head
	ProxyHeaders       bool          // X-Forwarded-* of trusted peers is believed
	ForwardedAllowIPs  []string      // addresses, networks, or "*" alone

	Realtime    bool
	Journal     int      // frames kept for each channel
	WSOrigins   []string // origins beside the same one; "*" for all
	PGListen    string   // DSN; a secret, never to be printed
	PublishHTTP string   // host:port; "": no such door

	PublishKey    []byte // of GRIP publishers and of Grip-Sig; a secret; nil: nobody chose one
	PublishIssuer string // iss of those who sign with it, by GRIP_URL; "": not said
	PublishLocal  bool   // the key is the supervisor's own: it is for this machine alone

	AccessLog       string // absolute file, "-" for stdout, "" for none
	AccessLogFormat string // "json", "common", "combined" or gunicorn's %-atoms
	LogLevel        string // "debug", "info", "warn" or "error"
	Metrics         string // host:port; "": none

	Doctor  bool
	Help    bool // nothing else was checked
	Version bool // nothing else was checked

	Warnings []string          // sentences for the operator
	Sources  map[string]Source // by the name of a flag without dashes; see Source
}

// App names the application.
type App struct {
	Module  string // dotted name
	Attr    string // dotted name inside it; "": app, application or a factory of these names
	Factory bool   // Attr is called to get the application
	Args    string // Python source of the factory's arguments, between the brackets
	Path    string // the file, when it was named by its file, as given; relative to Chdir
}

// String is the application as it would be typed.
func (a App) String() string {
	s := a.Module
	if a.Path != "" {
		s = a.Path
	}
	if a.Attr != "" {
		s += ":" + a.Attr
	}
	if a.Factory && a.Attr != "" {
		s += "(" + a.Args + ")"
	}
	return s
}

// Static is one directory served under a route.
type Static struct {
	Route string // "/static": a path without a slash at its end, or "/"
	Dir   string // absolute
}

// Bind is one address to listen on.
type Bind struct {
	Network string // "tcp", "unix" or "fd"
	Address string // host:port; a path or "@name"; the number of a descriptor
}

// String is the address as --bind takes it.
func (b Bind) String() string {
	switch b.Network {
	case "unix":
		return "unix:" + b.Address
	case "fd":
		return "fd://" + b.Address
	}
	return b.Address
}

// Kinds of a Source.
const (
	FromDefault = "default"
	FromFlag    = "flag"
	FromEnv     = "environment"
)

// Source is where a value came from.
type Source struct {
	Kind  string // FromDefault, FromFlag or FromEnv
	Name  string // as spelled: "-w", "WEB_CONCURRENCY"; "" for a default
	In    string // a variable that held the flag, a file or "-e" that set the variable
	Value string // as given, those of a list with commas; "" for a secret
}

// String is a phrase for messages.
func (s Source) String() string {
	switch {
	case s.Kind == FromFlag && s.In != "", s.Kind == FromEnv && s.In != "":
		return s.Name + " in " + s.In
	case s.Kind == FromFlag:
		return s.Name
	case s.Kind == FromEnv:
		return "$" + s.Name
	}
	return FromDefault
}

// Source says where the value of the setting came from, by the name of its
// flag without dashes ("workers") or "app". "bind" is the addresses together.
func (o *Options) Source(name string) Source {
	if s, ok := o.Sources[name]; ok {
		return s
	}
	return Source{Kind: FromDefault}
}

// A Setting is one value that was given.
type Setting struct {
	Name   string // of the flag, without dashes
	Value  string // as given; "" for a secret
	Source Source
}

// Given lists the settings that did not stay at their defaults, in the order of
// the help. What has no effect is in Warnings alone.
func (o *Options) Given() []Setting {
	var list []Setting
	for _, f := range newTable().flags {
		if s, ok := o.Sources[f.name]; ok && f.group != "" {
			list = append(list, Setting{f.name, s.Value, s})
		}
	}
	return list
}

// envDSN is --pg-listen, with a password in it most of the time: what is ours to read
// is not for the application, nor for its children.
const envDSN = "M0_PG_LISTEN"

// Environ is the environment of the workers: base and what Env adds to it.
func (o *Options) Environ(base []string) []string {
	all := slices.DeleteFunc(slices.Clone(base), func(v string) bool {
		return strings.HasPrefix(v, envDSN+"=")
	})
	for _, name := range slices.Sorted(maps.Keys(o.Env)) {
		all = append(all, name+"="+o.Env[name])
	}
	return all
}

func (o *Options) warn(sentence string) { o.Warnings = append(o.Warnings, sentence) }

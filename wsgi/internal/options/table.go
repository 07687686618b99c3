// SPDX-License-Identifier: MIT

package options

import (
	"time"

	"m0serve.dev/http/config"
)

// Bounds that keep a slip of the finger from becoming a way to run.
const (
	threadsMax = 1024
	loopsMax   = 64
	countMax   = 1 << 30
	spanMax    = 24 * time.Hour
	sizeMax    = 1 << 44
	lineMin    = 256
	lineMax    = 1 << 20
	fieldsMax  = 4096
	headMin    = 1 << 10
	headMax    = 4 << 20
)

// listening has the addresses. They are put together by finishBinds, so most of
// them only check their form here.
func listening() []flag {
	const group = "Listening"
	return []flag{
		{name: "bind", aliases: []string{"-b"}, value: "ADDR", list: true, group: group,
			help: "HOST:PORT, unix:PATH or fd://N", set: checkBind},
		{name: "host", foreign: []string{"UVICORN_HOST"}, value: "HOST", def: "127.0.0.1",
			group: group, help: "0.0.0.0 is every address", set: checkHost},
		{name: "port", foreign: []string{"PORT", "UVICORN_PORT"}, value: "N", def: "8080",
			group: group, help: "0: any free one; $PORT sets host 0.0.0.0", set: checkPort},
		{name: "uds", foreign: []string{"UVICORN_UDS"}, value: "PATH", group: group,
			help: "listen on a unix socket", set: checkUDS},
		{name: "fd", foreign: []string{"UVICORN_FD"}, value: "N", group: group,
			help: "listen on an inherited socket", set: checkFD},
		{name: "backlog", foreign: []string{"UVICORN_BACKLOG"}, value: "N", def: "2048",
			group: group, help: "connections that wait to be accepted",
			set: number(func(o *Options) *int { return &o.Backlog }, 1, 1<<16)},
	}
}

// application says what is served and in which Python.
func application() []flag {
	const group = "Application"
	return []flag{
		{name: "interface", foreign: []string{"UVICORN_INTERFACE"}, value: "KIND", def: "auto",
			group: group, help: "auto, wsgi or asgi", set: setInterface},
		{name: "factory", foreign: []string{"UVICORN_FACTORY"}, group: group,
			help: "call module:app to get the application",
			set:  toggle(func(o *Options) *bool { return &o.App.Factory })},
		{name: "lifespan", aliases: []string{"--asgi-lifespan"},
			foreign: []string{"UVICORN_LIFESPAN"}, value: "MODE", def: "auto",
			group: group, help: "ASGI start-up events: auto, on or off",
			set: oneOf(func(o *Options) *string { return &o.Lifespan }, "auto", "on", "off")},
		{name: "root-path", aliases: []string{"--url-path-prefix"},
			foreign: []string{"SCRIPT_NAME", "UVICORN_ROOT_PATH"}, value: "PATH", group: group,
			help: "prefix under which it is reached", set: setRootPath},
		{name: "static", value: "ROUTE=DIR", list: true, group: group,
			help: "serve files, such as /static=public", set: addStatic},
		{name: "chdir", aliases: []string{"--working-dir"}, value: "DIR", group: group,
			help: "change to DIR before it is loaded", set: setChdir},
		{name: "pythonpath", aliases: []string{"--app-dir"}, foreign: []string{"UVICORN_APP_DIR"},
			value: "DIR", list: true, group: group, help: "put DIR at the front of sys.path",
			set: each(func(o *Options) *[]string { return &o.PythonPath }, absolute)},
		{name: "python", value: "EXE", group: group, help: "interpreter to serve with",
			set: setPython},
		{name: "venv", aliases: []string{"--virtualenv"}, value: "DIR",
			group: group, help: "virtual environment [$VIRTUAL_ENV, ./.venv]",
			set: anyPath(func(o *Options) *string { return &o.Venv })},
		{name: "env", aliases: []string{"-e"}, env: noEnv, value: "K=V", list: true, secret: true,
			group: group, help: "set a variable for the application", set: nothing},
		{name: "env-file", aliases: []string{"--env-files"}, foreign: []string{"UVICORN_ENV_FILE"},
			value: "FILE", list: true, group: group, help: "read variables from a file",
			set: nothing},
		{name: "validate", env: "M0_WSGI_VALIDATE", group: group,
			help: "check the application with wsgiref.validate",
			set:  toggle(func(o *Options) *bool { return &o.Validate })},
	}
}

// processes has what the supervisor does.
func processes() []flag {
	const group = "Processes"
	return append([]flag{
		{name: "workers", aliases: []string{"-w"},
			foreign: []string{"WEB_CONCURRENCY", "UVICORN_WORKERS"}, value: "N", def: "1",
			group: group, help: "processes that serve; auto: one for each CPU", set: setWorkers},
		{name: "threads", aliases: []string{"--blocking-threads"}, env: "M0_BLOCKING_THREADS",
			value: "N", def: "1", group: group, help: "Python threads of each worker",
			set: number(func(o *Options) *int { return &o.Threads }, 1, threadsMax)},
		{name: "loops", aliases: []string{"--runtime-threads"}, env: "M0_THREADS", value: "N",
			def: "1", group: group, help: "event loops of each worker",
			set: number(func(o *Options) *int { return &o.Loops }, 1, loopsMax)},
		{name: "accept-share", def: "1", group: group,
			help: "do not even out connections",
			set:  toggle(func(o *Options) *bool { return &o.AcceptShare })},
		{name: "timeout", aliases: []string{"-t"}, value: "TIME", def: "30s", group: group,
			help: "longest a request may take; 0: any",
			set:  span(func(o *Options) *time.Duration { return &o.Timeout }, spanMax)},
		{name: "graceful-timeout",
			aliases: []string{"--timeout-graceful-shutdown", "--workers-kill-timeout"},
			env:     "M0_DRAIN_S", foreign: []string{"UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN"},
			value: "TIME", def: "5s", group: group,
			help: "for requests to end at a stop; 0: at once", set: graceful},
		{name: "max-requests", aliases: []string{"--limit-max-requests"},
			foreign: []string{"UVICORN_LIMIT_MAX_REQUESTS"}, value: "N", def: "0", group: group,
			help: "replace a worker after N requests; 0: never",
			set:  number(func(o *Options) *int { return &o.MaxRequests }, 0, countMax)},
		{name: "max-requests-jitter", aliases: []string{"--limit-max-requests-jitter"},
			foreign: []string{"UVICORN_LIMIT_MAX_REQUESTS_JITTER"}, value: "N", def: "0",
			group: group, help: "add up to N at random",
			set: number(func(o *Options) *int { return &o.MaxRequestsJitter }, 0, countMax)},
		{name: "workers-max-rss", value: "SIZE", def: "0", group: group,
			help: "replace a worker above this, such as 512M", set: setMaxRSS},
	}, managing()...)
}

// managing has the rest of the group: reload, process id file, identity.
func managing() []flag {
	const group = "Processes"
	return []flag{
		{name: "reload", foreign: []string{"UVICORN_RELOAD"}, group: group,
			help: "new workers when a file changes",
			set:  toggle(func(o *Options) *bool { return &o.Reload })},
		{name: "reload-dir", aliases: []string{"--reload-paths"},
			foreign: []string{"UVICORN_RELOAD_DIR", "UVICORN_RELOAD_DIRS"}, value: "DIR",
			list: true, group: group, help: "watch DIR, not the working directory",
			set: each(func(o *Options) *[]string { return &o.ReloadDirs }, directory)},
		{name: "reload-include", aliases: []string{"--reload-extra-file"},
			foreign: []string{"UVICORN_RELOAD_INCLUDES"}, value: "GLOB", list: true, group: group,
			help: "watch these files too, beside *.py",
			set:  each(func(o *Options) *[]string { return &o.ReloadInclude }, pattern)},
		{name: "reload-exclude", aliases: []string{"--reload-ignore-patterns"},
			foreign: []string{"UVICORN_RELOAD_EXCLUDES"}, value: "GLOB", list: true, group: group,
			help: "do not watch these files",
			set:  each(func(o *Options) *[]string { return &o.ReloadExclude }, pattern)},
		{name: "pid", aliases: []string{"-p", "--pid-file"}, value: "FILE", group: group,
			help: "write the process id of the supervisor",
			set:  setPidFile},
		{name: "user", aliases: []string{"-u"}, value: "USER", group: group,
			help: "run workers as USER (root only)",
			set:  text(func(o *Options) *string { return &o.User })},
		{name: "group", aliases: []string{"-g"}, value: "GROUP", group: group,
			help: "run workers as GROUP (root only)",
			set:  text(func(o *Options) *string { return &o.Group })},
		{name: "umask", aliases: []string{"-m"}, value: "OCTAL", group: group,
			help: "mode bits taken from new files", set: setUmask},
	}
}

// http has connections and limits.
func http() []flag {
	const group = "HTTP"
	return []flag{
		{name: "keep-alive", aliases: []string{"--timeout-keep-alive"},
			foreign: []string{"UVICORN_TIMEOUT_KEEP_ALIVE"}, value: "TIME", def: "75s",
			group: group, help: "an idle connection lives; 0: one request",
			set: span(func(o *Options) *time.Duration { return &o.KeepAlive }, spanMax)},
		{name: "header-timeout", aliases: []string{"--header-read-timeout"}, value: "TIME",
			def: "10s", group: group, help: "for a request head to arrive", set: setHeaderTimeout},
		{name: "limit-concurrency", aliases: []string{"--backpressure"},
			foreign: []string{"UVICORN_LIMIT_CONCURRENCY"}, value: "N", def: "0", group: group,
			help: "requests in a worker, then 503; 0: any",
			set:  number(func(o *Options) *int { return &o.LimitConcurrency }, 0, countMax)},
		{name: "max-conns", aliases: []string{"--worker-connections"}, value: "N", def: "65536",
			group: group, help: "connections of a worker, then 503",
			set: number(func(o *Options) *int { return &o.MaxConns }, 1, 1<<22)},
		{name: "limit-request-body", env: "M0_MAX_BODY", value: "SIZE", def: "1G", group: group,
			help: "larger bodies get 413; 0: any",
			set:  size(func(o *Options) *int64 { return &o.LimitRequestBody }, 1, 0, sizeMax)},
		{name: "limit-request-line", value: "SIZE", def: "16K", group: group,
			help: "longer lines get 414 or 431",
			set:  smallSize(func(o *Options) *int { return &o.LimitRequestLine }, lineMin, lineMax)},
		{name: "limit-request-fields", value: "N", def: "128", group: group,
			help: "more header fields get 431",
			set:  number(func(o *Options) *int { return &o.LimitRequestFields }, 1, fieldsMax)},
		{name: "limit-head-bytes", env: "M0_MAX_HEAD", value: "SIZE", def: "64K", group: group,
			help: "larger heads get 431",
			set:  smallSize(func(o *Options) *int { return &o.LimitHeadBytes }, headMin, headMax)},
		{name: "proxy-headers", foreign: []string{"UVICORN_PROXY_HEADERS"}, def: "1", group: group,
			help: "do not believe X-Forwarded-*",
			set:  toggle(func(o *Options) *bool { return &o.ProxyHeaders })},
		{name: "forwarded-allow-ips",
			foreign: []string{"FORWARDED_ALLOW_IPS", "UVICORN_FORWARDED_ALLOW_IPS"}, value: "LIST",
			list: true, def: "127.0.0.1,::1", group: group,
			help: "trusted proxies [127.0.0.1,::1]",
			set:  each(func(o *Options) *[]string { return &o.ForwardedAllowIPs }, peer)},
	}
}

// realtime has held streams and the doors to the bus.
func realtime() []flag {
	const group = "Realtime"
	return []flag{
		{name: "realtime", group: group, help: "views may hold streams with Grip-Hold",
			set: toggle(func(o *Options) *bool { return &o.Realtime })},
		{name: "journal", value: "N", def: "64", group: group,
			help: "frames kept of each channel",
			set:  number(func(o *Options) *int { return &o.Journal }, 0, 1<<20)},
		{name: "ws-origins", value: "LIST", list: true, group: group,
			help: "who else may open WebSockets",
			set:  each(func(o *Options) *[]string { return &o.WSOrigins }, origin)},
		{name: "pg-listen", value: "DSN", secret: true, group: group,
			help: "publish what Postgres NOTIFYs", set: setPGListen},
		{name: "publish-http", value: "ADDR", group: group,
			help: "take GRIP publishes at http://ADDR/publish/",
			set:  address(func(o *Options) *string { return &o.PublishHTTP })},
		{name: "publish-key", value: "KEY", secret: true, group: group,
			help: "of these publishes; else a random one", set: setPublishKey},
	}
}

// output has logs, metrics and the commands that only print.
func output() []flag {
	const group = "Logs and checks"
	return []flag{
		{name: "access-log", aliases: []string{"--access-logfile"},
			foreign: []string{"UVICORN_ACCESS_LOG"}, value: "FILE", group: group,
			help: "a line for each request; - is stdout", set: setAccessLog},
		{name: "access-log-format", aliases: []string{"--access-logformat", "--access-log-fmt"},
			value: "FMT", def: "json", group: group,
			help: "or common, combined, '%(h)s …'", set: setAccessLogFormat},
		{name: "log-level", foreign: []string{"UVICORN_LOG_LEVEL"}, value: "LEVEL", def: "info",
			group: group, help: "debug, info, warn or error", set: setLogLevel},
		{name: "metrics", aliases: []string{"--metrics-address"}, value: "ADDR", group: group,
			help: "OpenMetrics at http://ADDR/metrics",
			set:  address(func(o *Options) *string { return &o.Metrics })},
		{name: "doctor", aliases: []string{"--check-config", "--print-config"}, env: noEnv,
			group: group, help: "print what would be served and every problem",
			set: toggle(func(o *Options) *bool { return &o.Doctor })},
		{name: "version", aliases: []string{"-v"}, env: noEnv, group: group,
			help: "print the version", set: toggle(func(o *Options) *bool { return &o.Version })},
		{name: "help", aliases: []string{"-h"}, env: noEnv, group: group,
			help: "print this", set: toggle(func(o *Options) *bool { return &o.Help })},
	}
}

// nothing accepts a value that was used before the table is applied.
func nothing(*Options, string) error { return nil }

// workersMax is how many workers the shared page of http/bus can name.
const workersMax = config.WorkersMax

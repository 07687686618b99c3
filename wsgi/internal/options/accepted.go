// SPDX-License-Identifier: MIT

package options

import (
	"errors"
	"strings"
)

// A fate is shared by several flags, written as in "spew paste=FILE": a name
// with "=" takes a value, "," goes before a further spelling.
type fate struct {
	flags  string
	reason string // of a refusal
	cure   string // of a refusal
	note   string // of a flag without effect
}

// known makes the flags of the fates.
func known(fates []fate) []flag {
	var list []flag
	for _, one := range fates {
		for word := range strings.FieldsSeq(one.flags) {
			names, value, _ := strings.Cut(word, "=")
			spellings := strings.Split(names, ",")
			list = append(list, flag{name: spellings[0], aliases: spellings[1:], value: value,
				env: noEnv, reason: one.reason, cure: one.cure, note: one.note})
		}
	}
	return list
}

// Sentences that several refusals share.
const (
	noTLS  = "m0serve does not end TLS yet"
	cutTLS = "end TLS in front of it (nginx, Caddy, a load balancer) " +
		"and leave the option out"
	leaveIt = "leave it out"
)

// refused are options of other servers that would change what is served.
func refused() []flag {
	list := known([]fate{
		{flags: "preload", cure: leaveIt,
			reason: "workers are started afresh and never forked, so nothing can be loaded " +
				"before them"},
		{flags: "daemon,-D", reason: "a service manager wants it in the foreground",
			cure: "leave it out, and use systemd, a container or setsid"},
		{flags: "config,-c=FILE",
			reason: "a gunicorn configuration is a Python program of gunicorn's",
			cure:   "give its settings as flags or as M0_ variables; see --help"},
		{flags: "paste,--paster=FILE paste-global=CONF", reason: "PasteDeploy files are not read",
			cure: "write a module that calls paste.deploy.loadapp and serve that"},
		{flags: "certfile=FILE keyfile=FILE ca-certs=FILE ciphers=LIST cert-reqs=N tls-cert=FILE " +
			"tls-key=FILE suppress-ragged-eofs do-handshake-on-connect",
			reason: noTLS, cure: cutTLS},
		{flags: "http2 http2-cleartext=MODE", reason: "m0serve speaks HTTP/1.1",
			cure: "let the proxy in front speak HTTP/2, and leave it out"},
		{flags: "proxy-protocol=MODE proxy-allow-from=LIST", reason: "the PROXY protocol is not spoken",
			cure: "let the proxy send X-Forwarded-For, and leave it out"},
		{flags: "protocol=NAME uwsgi-allow-from=LIST", reason: "m0serve speaks HTTP alone",
			cure: "let the proxy speak HTTP to it (nginx: proxy_pass), and leave it out"},
		{flags: "strip-header-spaces permit-obsolete-folding permit-unconventional-http-method " +
			"permit-unconventional-http-version casefold-http-method", cure: leaveIt,
			reason: "requests are taken as RFC 9112 has them and in no looser form"},
		{flags: "dirty-app=APP dirty-workers=N dirty-timeout=TIME dirty-threads=N " +
			"dirty-graceful-timeout=TIME", reason: "there are no dirty workers",
			cure: "leave it out, and run long tasks on --threads or in a task queue"},
		{flags: "static-path-route=ROUTE static-path-mount=DIR",
			reason: "routes and directories come in pairs", cure: "write --static ROUTE=DIR"},
		{flags: "workers-lifetime=TIME", reason: "workers are not replaced by age",
			cure: "use --max-requests or --workers-max-rss"},
		{flags: "uds-permissions=MODE", reason: "a socket gets its mode from the umask",
			cure: "use --umask"},
		{flags: "header=K:V", reason: "fields are not added to answers",
			cure: "let the application or the proxy set it"},
		{flags: "statsd-host=ADDR statsd-prefix=TEXT dogstatsd-tags=TAGS",
			reason: "StatsD is not spoken",
			cure:   "use --metrics ADDR and let the collector scrape it"},
		{flags: "log-syslog log-syslog-to=ADDR log-syslog-prefix=TEXT log-syslog-facility=NAME",
			reason: "syslog is not spoken",
			cure:   "leave it out; what goes to stderr reaches journald and docker"},
		{flags: "runtime-mode=MODE", reason: "there is one way to run", cure: leaveIt},
		{flags: "spew", reason: "it traces every line of Python", cure: leaveIt},
	})
	for i := range list {
		switch list[i].name {
		case "certfile", "keyfile":
			list[i].foreign = []string{"UVICORN_SSL_" + strings.ToUpper(list[i].name)}
		}
	}
	return list
}

// ineffective are options of other servers without which serving is right.
func ineffective() []flag {
	list := known([]fate{
		{flags: "loop,--asgi-loop=KIND", note: "uvloop is used when it is installed"},
		{flags: "ws=KIND http-parser=KIND task-impl=KIND reload-engine=KIND",
			note: "there is one implementation"},
		{flags: "ws-max-size,--websocket-max-message-size=SIZE ws-max-queue=N " +
			"ws-ping-interval=TIME ws-ping-timeout=TIME ws-per-message-deflate=BOOL " +
			"asgi-disconnect-grace-period=TIME", note: "the server's own limits hold"},
		{flags: "worker-tmp-dir=DIR", note: "heartbeats live in shared memory"},
		{flags: "spawn-workers", note: "workers are always started afresh"},
		{flags: "respawn-failed-workers respawn-interval=TIME",
			note: "a worker that dies is always replaced at once"},
		{flags: "timeout-worker-healthcheck=TIME", note: "heartbeats have their own"},
		{flags: "blocking-threads-idle-timeout=TIME", note: "idle threads stay"},
		{flags: "runtime-blocking-threads=N", note: "see --threads"},
		{flags: "reload-delay=TIME", note: "changes are seen at once"},
		{flags: "reuse-port", note: "the workers share one listener evenly"},
		{flags: "sendfile", note: "files are sent without Python in any case"},
		{flags: "limit-request-field-size=SIZE",
			note: "the limit is --limit-request-line, for fields too"},
		{flags: "h11-max-incomplete-event-size=SIZE", note: "see --limit-head-bytes"},
		{flags: "http2-initial-window-size=N http2-max-concurrent-streams=N " +
			"http2-max-frame-size=N http2-max-header-list-size=N", note: "m0serve speaks HTTP/1.1"},
		{flags: "header-map=MODE", note: "fields with _ in their name are dropped"},
		{flags: "forwarder-headers=LIST", note: "a path prefix is set by --root-path"},
		{flags: "log-config=FILE log-config-json=FILE logger-class=CLASS",
			note: "configure logging in the application; see --access-log and --log-level"},
		{flags: "disable-redirect-access-to-syslog", note: "syslog is not spoken"},
		{flags: "capture-output", note: "what the application prints stays on its stdout"},
		{flags: "enable-stdio-inheritance,-R",
			note: "workers always write to the same streams"},
		{flags: "use-colors", note: "a terminal gets colours, a file does not"},
		{flags: "server-header", note: "the application may set Server"},
		{flags: "date-header", note: "every answer has Date, as RFC 9110 wants"},
		{flags: "name,-n,--process-name=NAME", note: "processes keep the name of their command"},
		{flags: "control-socket=PATH control-socket-mode=MODE", note: "there is none"},
		{flags: "enable-backlog-metric", note: "see --metrics"},
		{flags: "initgroups", note: "--user brings the user's groups"},
		{flags: "reset-contextvars", note: "every request has a context of its own"},
	})
	for i := range list {
		switch list[i].name {
		case "loop", "ws":
			list[i].foreign = []string{"UVICORN_" + strings.ToUpper(list[i].name)}
		}
	}
	return append(list,
		flag{name: "worker-class", aliases: []string{"-k"}, value: "CLASS", env: noEnv,
			set: setWorkerClass},
		flag{name: "http", aliases: []string{"--http-protocols"}, value: "KIND", env: noEnv,
			foreign: []string{"UVICORN_HTTP"}, set: setHTTP},
		flag{name: "error-logfile", aliases: []string{"--log-file", "--error-log"}, value: "FILE",
			env: noEnv, set: setErrorLog})
}

// setWorkerClass takes the classes whose work m0serve does in its own way.
func setWorkerClass(o *Options, v string) error {
	lower := strings.ToLower(v)
	switch {
	case lower == "sync" || lower == "gthread" || lower == "asgi" ||
		strings.HasPrefix(lower, "uvicorn.workers.") ||
		strings.HasPrefix(lower, "uvicorn_worker."):
		o.warn("-k " + v + " has no effect: --interface and --threads say how workers run")
		return nil
	case strings.Contains(lower, "gevent") || strings.Contains(lower, "eventlet"):
		return errors.New("there is no monkey-patched worker; leave it out and use --threads N: " +
			"a view that waits does not hold up the others")
	}
	return errors.New("leave it out; sync, gthread and uvicorn.workers.* are accepted")
}

// setHTTP takes the names of parsers, and no version of HTTP but 1.
func setHTTP(o *Options, v string) error {
	if strings.ContainsAny(strings.TrimPrefix(v, "h11"), "23") {
		return errors.New("let the proxy in front speak it; m0serve speaks HTTP/1.1")
	}
	if v == "h1" || v == "1" || v == "auto" {
		return nil
	}
	o.warn("--http " + v + " has no effect: there is one parser")
	return nil
}

func setErrorLog(o *Options, v string) error {
	if v != "-" {
		o.warn("--error-logfile " + v + " has no effect: errors go to stderr, " +
			"which the shell or the service manager can direct to a file")
	}
	return nil
}

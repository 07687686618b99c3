// SPDX-License-Identifier: MIT

package options

import (
	"strings"
	"testing"
)

// honoured has what people type for other servers, and the setting it is here.
const honoured = `
-b bind --bind bind --backlog backlog -w workers --workers workers --threads threads
--worker-connections max-conns --max-requests max-requests -t timeout --timeout timeout
--max-requests-jitter max-requests-jitter --graceful-timeout graceful-timeout
--keep-alive keep-alive --limit-request-line limit-request-line
--limit-request-fields limit-request-fields --reload reload --chdir chdir
--reload-extra-file reload-include -e env --env env -p pid --pid pid -u user --user user
-g group --group group -m umask --umask umask --forwarded-allow-ips forwarded-allow-ips
--pythonpath pythonpath --access-logfile access-log --access-logformat access-log-format
--log-level log-level --check-config doctor --print-config doctor -v version -h help
--asgi-lifespan lifespan --root-path root-path
--host host --port port --uds uds --fd fd --reload-dir reload-dir --interface interface
--reload-include reload-include --reload-exclude reload-exclude --env-file env-file
--lifespan lifespan --access-log access-log --no-access-log access-log
--proxy-headers proxy-headers --no-proxy-headers proxy-headers --factory factory
--limit-concurrency limit-concurrency --limit-max-requests max-requests
--limit-max-requests-jitter max-requests-jitter --timeout-keep-alive keep-alive
--timeout-graceful-shutdown graceful-timeout --app-dir pythonpath --version version
--blocking-threads threads --runtime-threads loops --backpressure limit-concurrency
--url-path-prefix root-path --working-dir chdir --env-files env-file --pid-file pid
--workers-max-rss workers-max-rss --workers-kill-timeout graceful-timeout
--reload-paths reload-dir --reload-ignore-patterns reload-exclude
--access-log-fmt access-log-format --metrics-address metrics`

// answered has what is not honoured, and must not be "no such option" either.
const answered = `
-k --worker-class --worker-tmp-dir --preload -D --daemon -c --config --reload-engine --spew
--limit-request-field_size --no-sendfile --reuse-port --initgroups --paste --paster
--paste-global --proxy-protocol --proxy-allow-from --protocol --uwsgi-allow-from --keyfile
--certfile --ssl-version --cert-reqs --ca-certs --suppress-ragged-eofs --ciphers
--do-handshake-on-connect --http-protocols --http2-cleartext --http2-initial-window-size
--http2-max-concurrent-streams --http2-max-frame-size --http2-max-header-list-size
--http-parser --permit-obsolete-folding --permit-unconventional-http-method
--permit-unconventional-http-version --casefold-http-method --strip-header-spaces
--forwarder-headers --header-map --asgi-loop --asgi-disconnect-grace-period --dirty-app
--dirty-workers --dirty-threads --dirty-timeout --dirty-graceful-timeout --capture-output
--control-socket --control-socket-mode --no-control-socket --error-logfile --log-file
--disable-redirect-access-to-syslog --dogstatsd-tags --enable-backlog-metric -R -n --name
--enable-stdio-inheritance --log-config --log-config-json --log-syslog --logger-class
--log-syslog-facility --log-syslog-prefix --log-syslog-to --statsd-host --statsd-prefix
--websocket-max-message-size --date-header --no-date-header --server-header
--no-server-header --h11-max-incomplete-event-size --header --http --http2 --loop --ws
--reload-delay --reset-contextvars --ssl-ca-certs --ssl-cert-reqs --ssl-certfile
--ssl-ciphers --ssl-keyfile --ssl-keyfile-password --timeout-worker-healthcheck --use-colors
--no-use-colors --ws-max-queue --ws-max-size --ws-per-message-deflate --ws-ping-interval
--ws-ping-timeout --task-impl --runtime-mode --runtime-blocking-threads --process-name
--blocking-threads-idle-timeout --respawn-failed-workers --respawn-interval
--workers-lifetime --static-path-route --static-path-mount --uds-permissions`

// TestSpellingsOfOtherServers: all options of gunicorn 27 and uvicorn 0.54, and
// granian's where they mean something here.
func TestSpellingsOfOtherServers(t *testing.T) {
	table := newTable()
	words := strings.Fields(honoured)
	for i := 0; i < len(words); i += 2 {
		f, _ := table.find(words[i])
		if f == nil || f.name != words[i+1] || f.set == nil || f.group == "" {
			t.Errorf("%s is %+v; want the setting %s", words[i], f, words[i+1])
		}
	}
	for _, s := range strings.Fields(answered) {
		_, err := parseArgs(nil, "m:a", s+"=1")
		if strings.Contains(errorText(err), "there is no such option") {
			t.Errorf("Parse(%s) = %v; want it known by name", s, err)
		}
	}
}

// TestForeignVariables has every variable of others and its setting.
func TestForeignVariables(t *testing.T) {
	want := strings.Fields(`
UVICORN_HOST host PORT port UVICORN_PORT port UVICORN_UDS uds UVICORN_FD fd
UVICORN_BACKLOG backlog UVICORN_INTERFACE interface UVICORN_FACTORY factory
UVICORN_LIFESPAN lifespan SCRIPT_NAME root-path UVICORN_ROOT_PATH root-path
UVICORN_APP_DIR pythonpath UVICORN_ENV_FILE env-file WEB_CONCURRENCY workers
UVICORN_WORKERS workers UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN graceful-timeout
UVICORN_LIMIT_MAX_REQUESTS max-requests UVICORN_LIMIT_MAX_REQUESTS_JITTER max-requests-jitter
UVICORN_RELOAD reload UVICORN_RELOAD_DIR reload-dir UVICORN_RELOAD_DIRS reload-dir
UVICORN_RELOAD_INCLUDES reload-include UVICORN_RELOAD_EXCLUDES reload-exclude
UVICORN_TIMEOUT_KEEP_ALIVE keep-alive UVICORN_LIMIT_CONCURRENCY limit-concurrency
UVICORN_PROXY_HEADERS proxy-headers FORWARDED_ALLOW_IPS forwarded-allow-ips
UVICORN_FORWARDED_ALLOW_IPS forwarded-allow-ips UVICORN_ACCESS_LOG access-log
UVICORN_LOG_LEVEL log-level UVICORN_LOOP loop UVICORN_WS ws UVICORN_HTTP http
UVICORN_SSL_CERTFILE certfile UVICORN_SSL_KEYFILE keyfile`)
	settings := map[string]string{}
	for i := 0; i < len(want); i += 2 {
		settings[want[i]] = want[i+1]
	}
	for _, f := range newTable().flags {
		for _, name := range f.foreign {
			if settings[name] != f.name {
				t.Errorf("%s sets --%s; want --%s", name, f.name, settings[name])
			}
			delete(settings, name)
		}
	}
	for name, setting := range settings {
		t.Errorf("%s sets nothing; want --%s", name, setting)
	}
}

// TestVariablesOfTheContract has those that are not spelled like their flag.
func TestVariablesOfTheContract(t *testing.T) {
	table := newTable()
	for flag, want := range map[string]string{
		"host": "M0_HOST", "port": "M0_PORT", "workers": "M0_WORKERS", "loops": "M0_THREADS",
		"threads": "M0_BLOCKING_THREADS", "accept-share": "M0_ACCEPT_SHARE",
		"graceful-timeout": "M0_DRAIN_S", "limit-request-body": "M0_MAX_BODY",
		"limit-head-bytes": "M0_MAX_HEAD", "max-conns": "M0_MAX_CONNS", "journal": "M0_JOURNAL",
		"validate": "M0_WSGI_VALIDATE", "python": "M0_PYTHON", "pg-listen": "M0_PG_LISTEN",
		"env": "", "doctor": "", "preload": "",
	} {
		if got := table.bySpelling["--"+flag].variable(); got != want {
			t.Errorf("variable of --%s = %q; want %q", flag, got, want)
		}
	}
}

// SPDX-License-Identifier: MIT

//go:build linux

package gripsite

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/smoketest"
)

// pushpinConf is one pushpin that shares nothing with another: sockets in its own
// folder, two ports of the loopback, and nothing that limits a burst.
const pushpinConf = `
[global]
rundir=%[1]s
ipc_prefix=p-
[proxy]
routesfile=%[1]s/routes
sig_iss=pushpin
sig_key=%[3]s
condure_in_specs=ipc://%[1]s/p-condure-out
condure_in_stream_specs=ipc://%[1]s/p-condure-out-stream
condure_out_specs=ipc://%[1]s/p-condure-in
m2a_in_specs=ipc://%[1]s/m2-out
m2a_in_stream_specs=ipc://%[1]s/m2-out-stream
m2a_out_specs=ipc://%[1]s/m2-in
zurl_out_specs=ipc://%[1]s/zurl-in
zurl_out_stream_specs=ipc://%[1]s/zurl-in-stream
zurl_in_specs=ipc://%[1]s/zurl-out
handler_inspect_spec=ipc://%[1]s/p-inspect
handler_accept_spec=ipc://%[1]s/p-accept
handler_retry_in_spec=ipc://%[1]s/p-retry
handler_ws_control_in_spec=ipc://%[1]s/p-ws-control-in
handler_ws_control_out_spec=ipc://%[1]s/p-ws-control-out
stats_spec=ipc://%[1]s/p-proxy-stats
command_spec=ipc://%[1]s/p-proxy-command
intreq_in_specs=ipc://%[1]s/p-intreq-in
intreq_in_stream_specs=ipc://%[1]s/p-intreq-in-stream
intreq_out_specs=ipc://%[1]s/p-intreq-out
[handler]
push_in_spec=ipc://%[1]s/p-push
push_in_sub_specs=ipc://%[1]s/p-sub
push_in_http_addr=127.0.0.1
push_in_http_port=%[2]d
push_in_http_max_headers_size=10000
push_in_http_max_body_size=1000000
stats_spec=ipc://%[1]s/p-stats
command_spec=ipc://%[1]s/p-command
message_rate=1000000
message_hwm=1000000
message_wait=5000
id_cache_ttl=60
connection_subscription_max=20
subscription_linger=60
proxy_inspect_spec=ipc://%[1]s/p-inspect
proxy_accept_spec=ipc://%[1]s/p-accept
proxy_retry_out_spec=ipc://%[1]s/p-retry
proxy_ws_control_in_spec=ipc://%[1]s/p-ws-control-out
proxy_ws_control_out_spec=ipc://%[1]s/p-ws-control-in
proxy_stats_spec=ipc://%[1]s/p-proxy-stats
proxy_command_spec=ipc://%[1]s/p-proxy-command
condure_in_stream_specs=ipc://%[1]s/p-condure-out-stream
condure_out_specs=ipc://%[1]s/p-condure-in
m2a_in_stream_specs=ipc://%[1]s/m2-out-stream
m2a_out_specs=ipc://%[1]s/m2-in
proxy_intreq_out_specs=ipc://%[1]s/p-intreq-in
proxy_intreq_out_stream_specs=ipc://%[1]s/p-intreq-in-stream
proxy_intreq_in_specs=ipc://%[1]s/p-intreq-out
`

// zurlConf lets pushpin's HTTP client reach the loopback, which its own settings
// refuse.
const zurlConf = `
[General]
in_spec=ipc://%[1]s/zurl-in
in_stream_spec=ipc://%[1]s/zurl-in-stream
out_spec=ipc://%[1]s/zurl-out
in_req_spec=
defpolicy=allow
allow=
deny=
max_open_requests=2000
buffer_size=200000
timeout=600
in_hwm=1000
out_hwm=1000
`

// gripKey is what pushpin and the project share.
const gripKey = "a-key-of-the-tests-that-is-long-enough"

// startPushpin serves the project with gunicorn and puts pushpin in front.
func (s *site) startPushpin(t *testing.T, l launch) {
	t.Helper()
	for _, name := range []string{"pushpin-proxy", "zurl", "condure"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: no %s on this machine: apt-get install pushpin", name)
		}
	}
	app, door := smoketest.FreePort(t), smoketest.FreePort(t)
	known := door
	if l.shut {
		known = smoketest.FreePort(t)
	}
	if l.port == 0 {
		l.port = smoketest.FreePort(t)
	}
	grip := fmt.Sprintf("GRIP_URL=http://127.0.0.1:%d?iss=pushpin&key=%s", known, gripKey)
	python := servers.Launch(t, pyserver.Config{
		Dir: ".", App: application, Server: "gunicorn", Port: app,
		Env: append(s.env, grip), Workers: l.workers, Threads: l.threads,
	})
	dir := shortDir(t)
	level := 2
	if os.Getenv("M0_GRIP_VERBOSE") != "" {
		level = 4
	}
	write(t, dir, "pushpin.conf",
		fmt.Sprintf(pushpinConf, dir, door, gripKey))
	write(t, dir, "zurl.conf", fmt.Sprintf(zurlConf, dir))
	write(t, dir, "routes", fmt.Sprintf("* 127.0.0.1:%d,over_http\n", app))
	zurl := smoketest.Run(t, exec.Command("zurl", "--config="+filepath.Join(dir, "zurl.conf")))
	conf, logs := "--config="+filepath.Join(dir, "pushpin.conf"), fmt.Sprint("--loglevel=", level)
	s.all = []*smoketest.Process{
		python, zurl,
		smoketest.Run(t, exec.Command("condure", fmt.Sprintf("--listen=127.0.0.1:%d,stream", l.port),
			"--zclient-stream=ipc://"+filepath.Join(dir, "p-condure"), "--log-level=2",
			"--buffer-size=8192", "--stream-maxconn=2000")),
		smoketest.Run(t, exec.Command("pushpin-proxy", conf, logs, "--ipc-prefix=p-")),
		smoketest.Run(t, exec.Command("pushpin-handler", conf, logs, "--ipc-prefix=p-")),
	}
	for _, port := range []int{app, door, l.port} {
		awaitPort(t, port)
	}
	s.url = fmt.Sprintf("http://127.0.0.1:%d", l.port)
}

// shortDir is a folder whose path leaves room for the names of sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pushpin")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func awaitPort(t *testing.T, port int) {
	t.Helper()
	smoketest.Until(t, fmt.Sprintf("port %d", port), func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

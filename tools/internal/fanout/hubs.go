// SPDX-License-Identifier: MIT

package fanout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"m0serve.dev/tools/internal/bench"
)

// nchanModules are where distributions put the modules of nginx.
var nchanModules = []string{
	"/usr/lib/nginx/modules/ngx_nchan_module.so", "/usr/lib64/nginx/modules/ngx_nchan_module.so",
}

var (
	errNoNchan   = errors.New("it is not installed (Debian: apt-get install nginx libnginx-mod-nchan)")
	errNoPushpin = errors.New("it is not installed (Debian: apt-get install pushpin)")
	errNoRedis   = errors.New("there is no redis-server (Debian: apt-get install redis-server)")
)

// nchan is nginx with one worker. A new stream gets new messages only, as elsewhere.
func (h House) nchan(p *bench.Program, port int) error {
	module := ""
	for _, file := range nchanModules {
		if _, err := os.Stat(file); err == nil {
			module = file
		}
	}
	if _, err := exec.LookPath("nginx"); err != nil || module == "" {
		return errNoNchan
	}
	text := strings.NewReplacer("MODULE", module, "DIR", h.Dir, "PORT", strconv.Itoa(port),
		"USER", userLine()).Replace(nginxConf)
	conf := filepath.Join(h.Dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return fmt.Errorf("fanout: %w", err)
	}
	p.Args = []string{"nginx", "-p", h.Dir, "-c", conf}
	return nil
}

// userLine lets the worker of a root's nginx write into the folder of the run.
func userLine() string {
	if os.Geteuid() == 0 {
		return "user root;"
	}
	return ""
}

const nginxConf = `load_module MODULE;
daemon off; worker_processes 1; worker_rlimit_nofile 20000; USER
error_log stderr error; pid DIR/nginx.pid;
events { worker_connections 15000; }
http {
  access_log off; keepalive_requests 1000000;
  client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/fastcgi;
  uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;
  server {
    listen 127.0.0.1:PORT backlog=2048;
    location /ping { return 200 "ok"; }
    location /events {
      nchan_subscriber eventsource; nchan_channel_id bench;
      nchan_subscriber_first_message newest; nchan_eventsource_ping_interval 0;
    }
    location /pub { nchan_publisher; nchan_channel_id bench; }
  }
}
`

// pushpin is Debian's, with a zurl of its own that may speak to this machine, in
// front of the application as m0serve answers it. It has four processes, and all
// cores; its limits of messages are lifted.
func (h House) pushpin(ctx context.Context, p *bench.Program, s *served, ports []int) error {
	for _, program := range []string{"pushpin", "pushpin-proxy", "condure", "zurl"} {
		if _, err := exec.LookPath(program); err != nil {
			return errNoPushpin
		}
	}
	behind := "127.0.0.1:" + strconv.Itoa(ports[2])
	fill := strings.NewReplacer("DIR", h.Dir, "HTTP", strconv.Itoa(ports[0]),
		"PUBLISH", strconv.Itoa(ports[1]))
	err := os.MkdirAll(filepath.Join(h.Dir, "run"), 0o700)
	for name, text := range map[string]string{"pushpin.conf": pushpinConf, "zurl.conf": zurlConf,
		"routes": "* " + behind + "\n"} {
		err = errors.Join(err,
			os.WriteFile(filepath.Join(h.Dir, name), []byte(fill.Replace(text)), 0o600))
	}
	if err != nil {
		return fmt.Errorf("fanout: %w", err)
	}
	s.behind, err = bench.Launch(ctx, bench.Program{Args: h.django(behind), Dir: h.Apps,
		Env: h.environ(), Addr: behind, Free: true})
	if err != nil {
		return err
	}
	if err := s.behind.Wait(ctx, func() (bool, error) { return probe(ctx, behind) }); err != nil {
		return err
	}
	s.form, s.door = "grip", fmt.Sprintf("127.0.0.1:%d/publish/", ports[1])
	p.Args = []string{"sh", "-c", "zurl --config=zurl.conf & exec pushpin --config=pushpin.conf"}
	p.Free = true
	return nil
}

// daphne is Channels on daphne: a consumer for each stream, in a group over a Redis of
// its own, whose memory and CPU do not count.
func (h House) daphne(ctx context.Context, p *bench.Program, s *served, ports []int) error {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return errNoRedis
	}
	redis := "127.0.0.1:" + strconv.Itoa(ports[1])
	var err error
	s.behind, err = bench.Launch(ctx, bench.Program{Dir: h.Dir, Addr: redis, Free: true,
		Args: []string{"redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(ports[1]),
			"--save", "", "--appendonly", "no", "--dir", h.Dir}})
	if err != nil {
		return err
	}
	if err := s.behind.Wait(ctx, func() (bool, error) { return listens(redis) }); err != nil {
		return err
	}
	p.Args = []string{h.Python, "-m", "daphne", "-b", "127.0.0.1", "-p", strconv.Itoa(ports[0]),
		"held_channels:app"}
	p.Dir, p.Env = h.Apps, append(h.environ(), "REDIS=redis://"+redis)
	return nil
}

const pushpinConf = `[global]
include={libdir}/internal.conf
rundir=DIR/run
ipc_prefix=m0-
port_offset=0

[runner]
services=condure,pushpin-proxy,pushpin-handler
http_port=127.0.0.1:HTTP
logdir=DIR/log
log_level=1
client_buffer_size=8192
client_maxconn=15000

[proxy]
routesfile=DIR/routes
updates_check=off
zurl_out_specs=ipc://DIR/zurl-in
zurl_out_stream_specs=ipc://DIR/zurl-in-stream
zurl_in_specs=ipc://DIR/zurl-out

[handler]
push_in_spec=ipc://DIR/push
push_in_sub_specs=ipc://DIR/sub
push_in_http_addr=127.0.0.1
push_in_http_port=PUBLISH
command_spec=ipc://DIR/command
message_rate=1000000
message_hwm=1000000
`

const zurlConf = `[General]
in_spec=ipc://DIR/zurl-in
in_stream_spec=ipc://DIR/zurl-in-stream
out_spec=ipc://DIR/zurl-out
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

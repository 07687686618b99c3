// SPDX-License-Identifier: MIT

//go:build unix

package smoketest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// FreePort is a port of the loopback that nobody listens on at this moment.
func FreePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

const nginxConf = `
daemon off;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log warn;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server {
		listen 127.0.0.1:%[2]d;
		location / {
			proxy_pass http://127.0.0.1:%[3]d;
			proxy_http_version 1.0;
		}
	}
}
`

// Nginx puts Debian's nginx, as it is configured when new and so with HTTP/1.0
// to the upstream, before the port and returns its URL. It skips the test,
// saying why, where there is none.
func Nginx(t *testing.T, upstream int) string {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("SKIPPED: no nginx on this machine; `go run ./tools setup` installs Debian's")
	}
	dir, port := t.TempDir(), FreePort(t)
	conf := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(nginxConf, dir, port, upstream)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-p", dir, "-c", conf, "-e", filepath.Join(dir, "error.log"))
	StartInGroup(t, cmd)
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(filepath.Join(dir, "error.log"))
			t.Logf("nginx: %.4000s", text)
		}
	})
	Until(t, "nginx to listen", func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

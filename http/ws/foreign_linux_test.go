// SPDX-License-Identifier: MIT

package ws_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/http/ws"
)

// foreignPython talks to an echo with the package websockets: every length, text and
// bytes, in fragments, and a ping.
const foreignPython = `
import asyncio, os, sys, websockets
async def main():
    async with websockets.connect(sys.argv[1], max_size=None) as c:
        offered = c.protocol.extensions
        for n in (0, 1, 125, 126, 127, 128, 1000, 4096, 4097, 65535, 65536, 300000):
            for message in ("é" * n, ("hello %d, " % n * n)[:n], os.urandom(n), bytes(n)):
                await c.send(message)
                got = await c.recv()
                assert got == message, (n, message[:20], got[:20])
        await c.send(["frag", "", "men" * 1000, "ts"])
        assert await c.recv() == "frag" + "men" * 1000 + "ts"
        await (await c.ping(b"p"))
    print("ok", [e.name for e in offered], c.close_code)
asyncio.run(main())
`

// foreignPage does the same in a browser, and posts what came of it.
const foreignPage = `<!doctype html><script>
const tell = (said) => fetch('/said', {method: 'POST', body: said})
const c = new WebSocket('ws://' + location.host + '/socket')
c.binaryType = 'arraybuffer'
const sizes = [0, 1, 125, 126, 128, 1000, 65535, 65536, 300000], sent = []
for (const n of sizes) { sent.push('é'.repeat(n)); sent.push(new Uint8Array(n).fill(n)) }
let at = 0
c.onopen = () => c.send(sent[at])
c.onerror = () => tell('error at ' + at)
c.onmessage = (e) => {
  const want = sent[at]
  if (typeof want === 'string' ? e.data !== want : new Uint8Array(e.data).join() !== want.join())
    return tell('message ' + at + ' differs')
  if (++at < sent.length) c.send(sent[at]); else c.close(1000)
}
c.onclose = (e) => tell('ok ' + c.extensions + ' ' + e.code + ' ' + e.wasClean)
</script>`

// TestForeignClients: clients of others talk to us, compressed.
func TestForeignClients(t *testing.T) {
	if testing.Short() {
		t.Skip("other programs are started")
	}
	o := &ws.Options{Compression: &ws.Compression{ClientContext: true}}
	said := make(chan string, 4)
	mux := http.NewServeMux()
	mux.Handle("GET /socket", echo(o))
	mux.HandleFunc("POST /said", func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body) // what is missing shows
		said <- string(text)
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, foreignPage)
	})
	for _, p := range places {
		addr := p.start(t, mux)
		before := o.Stats()
		t.Run("websockets/"+p.name, func(t *testing.T) { testWebsockets(t, addr) })
		t.Run("chromium/"+p.name, func(t *testing.T) { testChromium(t, addr, said) })
		after := o.Stats()
		if n := after.MessagesIn - before.MessagesIn; n > 0 && (after.Inflated-before.Inflated < n/2 ||
			after.Deflated-before.Deflated < n/4) {
			t.Errorf("%s: %+v behind %+v: want most messages compressed", p.name, after, before)
		}
	}
}

func testWebsockets(t *testing.T, addr string) {
	dir := os.Getenv("M0_TEST_VENV")
	if cache, err := os.UserCacheDir(); err == nil && dir == "" {
		dir = filepath.Join(cache, "m0", "venv")
	}
	python := filepath.Join(dir, "bin", "python")
	if err := exec.Command(python, "-c", "import websockets").Run(); err != nil {
		t.Skipf("the package websockets is not in %s (go run ./tools setup)", dir)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", foreignPython, "ws://"+addr+"/socket")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "ok ['permessage-deflate'] 1000\n" {
		t.Errorf("it says %q, %v", out, err)
	}
}

func testChromium(t *testing.T, addr string, said <-chan string) {
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("there is no chromium (go run ./tools setup)")
	}
	dir, err := os.MkdirTemp("", "ws-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu",
		"--user-data-dir="+dir, "--remote-debugging-port=0", "http://"+addr+"/")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // all of its processes
		_ = cmd.Wait()
		// The last of them may still write.
		for end := time.Now().Add(10 * time.Second); os.RemoveAll(dir) != nil; {
			if time.Now().After(end) {
				t.Errorf("%s cannot be removed", dir)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	select {
	case got := <-said:
		if !strings.HasPrefix(got, "ok permessage-deflate") || !strings.HasSuffix(got, " 1000 true") {
			t.Errorf("the page says %q", got)
		}
	case <-time.After(60 * time.Second):
		t.Error("the page says nothing")
	}
}

// SPDX-License-Identifier: MIT

package host

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/publish"
	"m0serve.dev/http/sse"
)

// knock publishes one message at a socket, as m0pub does, and returns its id.
func knock(path, channel, data string) (id uint64, err error) {
	const patience = 5 * time.Second
	c, err := net.DialTimeout("unix", path, patience)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	b := append([]byte("m0p1\x00\x00\x00\x00\x00\x01\x00"), 0, byte(len(channel)), 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	b = append(append(b, channel...), data...)
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-8))
	if _, err := c.Write(b); err != nil {
		return 0, err
	}
	answer := make([]byte, 20)
	if _, err := io.ReadFull(c, answer); err != nil {
		return 0, err
	}
	if answer[8] != 0 || answer[9] != 0 {
		return 0, errors.New("refused")
	}
	return binary.BigEndian.Uint64(answer[10:]), nil
}

// socketsOf lists the publish sockets of the services in dir.
func socketsOf(t *testing.T, dir string) []string {
	t.Helper()
	place, err := publish.Place(dir)
	if err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(place, "*"))
	return found
}

func TestOneProcessTakesWhatOthersPublish(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	url, out, exit := started(t, App{Handler: func(c *Context) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := c.Hub.Hold(w, r, sse.HoldOptions{Channels: []string{"news"}}); err != nil {
				t.Error(err)
			}
		}), nil
	}})
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	sockets := socketsOf(t, dir)
	if len(sockets) != 1 || os.Getenv(publish.Env) != sockets[0] {
		t.Fatalf("sockets %v, and %s=%q for children; want one and its path",
			sockets, publish.Env, os.Getenv(publish.Env))
	}
	id, err := knock(sockets[0], "news", "hello")
	if err != nil {
		t.Fatalf("publish: %v\n%s", err, out)
	}
	want := regexp.MustCompile(`id: \d+\ndata: hello\n\n`)
	read := ""
	for buf := make([]byte, 512); !want.MatchString(read); {
		n, err := resp.Body.Read(buf)
		if read += string(buf[:n]); err != nil {
			t.Fatalf("the stream brought %q and %v, want the event %d", read, err, id)
		}
	}
	if code := stop(t, exit); code != 0 {
		t.Errorf("exit %d, want 0\n%s", code, out)
	}
	if left := socketsOf(t, dir); len(left) != 0 || os.Getenv(publish.Env) != "" {
		t.Errorf("sockets %v and %s=%q are left behind, want none",
			left, publish.Env, os.Getenv(publish.Env))
	}
	if strings.Contains(out.String(), "publish") {
		t.Errorf("printed %s, want nothing about the publish socket", out)
	}
}

func TestEveryWorkerTakesWhatOthersPublish(t *testing.T) {
	f := startFleet(t, "serve", 2)
	f.url(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	port := regexp.MustCompile(`:(\d+) \(workers`).FindStringSubmatch(f.String())[1]
	path := ""
	for _, s := range socketsOf(t, here) { // other services of other tests may be there
		if strings.HasSuffix(s, "-"+port+".sock") {
			path = s
		}
	}
	last := uint64(0)
	for range 20 {
		id, err := knock(path, "news", "hello")
		if err != nil || id <= last {
			t.Fatalf("publish at %q = %d, %v; want an id above %d", path, id, err, last)
		}
		last = id
	}
	if code := f.stop(t); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket outlives its service (%v)", err)
	}
}

func TestConfiguredSocketHasToBeThere(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("M0_PORT", "0")
	path := filepath.Join(dir, "s")
	other, err := publish.Listen(publish.ListenConfig{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	t.Setenv(publish.Env, path)
	out := &output{}
	ended := make(chan int, 1)
	go func() { ended <- run(App{Handler: hello}, io.Discard, out) }()
	select {
	case code := <-ended:
		if code != 1 ||
			!strings.Contains(out.String(), `host: M0_PUBLISH_SOCKET="`+path+`": publish: socket `) ||
			!strings.Contains(out.String(), "another service listens there") ||
			!strings.Contains(out.String(), publish.ListenCure+"\n") {
			t.Errorf("exit %d, printed %s; want 1 and that another service is there", code, out)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the service serves without the socket that was configured")
	}
	t.Setenv(publish.Env, publish.Off)
	_, _, exit := started(t, App{Handler: hello})
	if s := socketsOf(t, dir); len(s) != 0 {
		t.Errorf("sockets %v with %s=off, want none", s, publish.Env)
	}
	stop(t, exit)
}

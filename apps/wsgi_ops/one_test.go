// SPDX-License-Identifier: MIT

//go:build linux

package wsgiops

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

// containers starts a command as process 1 of a name space of its own.
var containers = []string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"}

// only is the child of a process.
func only(t *testing.T, parent int) int {
	t.Helper()
	path := "/proc/" + strconv.Itoa(parent) + "/task/" + strconv.Itoa(parent) + "/children"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatalf("children of process %d: %q, want one", parent, text)
	}
	return pid
}

// As process 1 of a container: it gets no signal that it has not asked for, and
// whatever loses its parent is left to it.
func TestProcessOne(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath(containers[0]); err != nil || os.Geteuid() != 0 {
		t.Skip("SKIPPED: needs root and unshare")
	}
	if out, err := exec.Command(containers[0], append(containers[1:], "true")...).
		CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no name space for processes here: %v %s", err, out)
	}
	file := filepath.Join(t.TempDir(), "pid")
	p := site{under: containers, args: []string{"--pid", file}}.start(t)
	if text, err := os.ReadFile(file); strings.TrimSpace(string(text)) != "1" {
		t.Errorf("the supervisor is process %q, %v; want 1", text, err)
	}
	if got := ask(t, p, "/parent"); got != "1" {
		t.Errorf("the worker's parent is %s, want 1", got)
	}
	for range 3 {
		ask(t, p, "/orphan")
	}
	smoketest.Until(t, "the orphans to be waited for", func() bool {
		return ask(t, p, "/zombies") == ""
	})
	old := ask(t, p, "/pid")
	c := dial(t, p)
	c.Send(get("/crash"))
	if err := c.Ended(); err != nil {
		t.Error(err)
	}
	smoketest.Until(t, "a successor of the worker that crashed", func() bool {
		return strings.Contains(p.Log(), `"worker: ended"`) && ask(t, p, "/pid") != old
	})
	if err := syscall.Kill(only(t, p.Cmd.Process.Pid), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	left(t, p, nil, time.Now(), 0, stopSoon)
}

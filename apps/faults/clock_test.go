// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A wallClock is the wall clock of programs that are built with the flags of
// overlayFlags and have its variable: they ask the system, as ever, and add what the
// test says. Go asks the kernel without the C library, so nothing that is loaded
// before can do this; and the clock of the machine is everybody's.
type wallClock struct{ file *os.File }

// envClock names the file with the seconds to add, in the order of the machine.
const envClock = "M0_FAULTS_CLOCK"

func newWallClock(t *testing.T) *wallClock {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "clock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	c := &wallClock{file: f}
	c.set(t, 0)
	return c
}

func (c *wallClock) env() string { return envClock + "=" + c.file.Name() }

// set makes the wall clock of the programs so much more than the machine's, at once.
func (c *wallClock) set(t *testing.T, ahead time.Duration) {
	t.Helper()
	word := binary.NativeEndian.AppendUint64(nil, uint64(int64(ahead/time.Second)))
	if _, err := c.file.WriteAt(word, 0); err != nil {
		t.Fatal(err)
	}
}

// jumps are an hour, there and back, both ways: what the wall clock is ahead by turns.
var jumps = []time.Duration{time.Hour, 0, -time.Hour, 0}

// clockSource is a file more in package time.
const clockSource = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var ahead = openAhead()

func openAhead() *atomic.Int64 {
	path, ok := syscall.Getenv("` + envClock + `")
	if !ok {
		return new(atomic.Int64)
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic(path + ": " + err.Error())
	}
	word, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(path + ": " + err.Error())
	}
	_ = syscall.Close(fd)
	return (*atomic.Int64)(unsafe.Pointer(&word[0]))
}
`

// The line of time.Now that asks the system, and what comes behind it.
const (
	clockLine = "\tsec, nsec, mono := runtimeNow()\n"
	clockMore = "\tsec += ahead.Load()\n"
)

var overlay struct {
	once sync.Once
	dir  string
	err  error
}

// overlayFlags are flags of go build for a program whose wall clock jumps.
func overlayFlags() ([]string, error) {
	overlay.once.Do(func() { overlay.err = writeOverlay() })
	return []string{"-overlay=" + filepath.Join(overlay.dir, "overlay.json")}, overlay.err
}

func removeOverlay() { _ = os.RemoveAll(overlay.dir) }

// overlayBefore is what GOFLAGS replaces already: of two overlays the go command takes
// the last alone, and the other may be a sabotage.
func overlayBefore() (map[string]string, error) {
	var list struct{ Replace map[string]string }
	for _, flag := range strings.Fields(os.Getenv("GOFLAGS")) {
		path, isOverlay := strings.CutPrefix(strings.TrimLeft(flag, "-"), "overlay=")
		if !isOverlay {
			continue
		}
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &list)
		}
		if err != nil {
			return nil, err
		}
	}
	if list.Replace == nil {
		list.Replace = map[string]string{}
	}
	return list.Replace, nil
}

func writeOverlay() error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	src := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(src, "time.go"))
	if err != nil {
		return err
	}
	if strings.Count(string(text), clockLine) != 1 {
		return fmt.Errorf("%s/time.go does not have once: %q", src, clockLine)
	}
	if overlay.dir, err = os.MkdirTemp("", "faults-"); err != nil {
		return err
	}
	replace, err := overlayBefore()
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"time.go":  strings.Replace(string(text), clockLine, clockLine+clockMore, 1),
		"ahead.go": clockSource,
	} {
		path := filepath.Join(overlay.dir, name)
		replace[filepath.Join(src, name)] = path
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(overlay.dir, "overlay.json"), list, 0o600)
}

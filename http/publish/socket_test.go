// SPDX-License-Identifier: MIT

//go:build linux || darwin || freebsd

package publish

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mustListen(t *testing.T, c ListenConfig) *Socket {
	t.Helper()
	s, err := Listen(c)
	if err != nil {
		t.Fatalf("Listen(%+v): %v", c, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestSocketIsFoundByTheDirectory(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := mustListen(t, ListenConfig{Dir: link, Name: "[::1]:8000"})
	sum := sha256.Sum256([]byte(real))
	want := fmt.Sprintf("/tmp/m0-%d/%x/1--8000.sock", os.Geteuid(), sum[:8])
	if s.Path() != want {
		t.Errorf("Listen in a linked directory: %s, want %s", s.Path(), want)
	}
	for path, mode := range map[string]os.FileMode{
		s.Path(): 0o600, filepath.Dir(s.Path()): 0o700, filepath.Dir(filepath.Dir(s.Path())): 0o700,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, %v; want %v", path, info.Mode().Perm(), err, mode)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close = %v, want nil", err)
	}
	if _, err := os.Lstat(filepath.Dir(s.Path())); !os.IsNotExist(err) {
		t.Errorf("Close leaves %s behind (%v)", filepath.Dir(s.Path()), err)
	}
}

// TestLookSaysWhatListenDoes: each path in turn is looked at and then listened at.
func TestLookSaysWhatListenDoes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []ListenConfig{
		{Dir: dir, Name: "a"}, {Dir: dir, Name: "a"}, {Dir: dir}, {Path: filepath.Join(dir, "own")},
		{Path: filepath.Join(dir, "own")}, {Path: file}, {Dir: filepath.Join(dir, "none")},
		{Path: filepath.Join(dir, "none", "own")}, {Path: filepath.Join(file, "own")}, {Path: dir},
		{Path: filepath.Join(dir, strings.Repeat("n", 120))},
	} {
		path, err := Look(c)
		if _, there := os.Lstat(path); err == nil && there == nil {
			t.Errorf("Look(%+v) made %s", c, path)
		}
		s, failed := Listen(c)
		switch {
		case failed != nil:
			if err == nil || err.Error() != failed.Error() {
				t.Errorf("Look(%+v) = %s, %v; Listen = %v", c, path, err, failed)
			}
		default:
			t.Cleanup(func() { _ = s.Close() })
			if err != nil || path != s.Path() {
				t.Errorf("Look(%+v) = %s, %v; Listen made %s", c, path, err, s.Path())
			}
		}
	}
}

func TestTwoServicesOfADirectoryHaveTwoSockets(t *testing.T) {
	dir := t.TempDir()
	a := mustListen(t, ListenConfig{Dir: dir, Name: "127.0.0.1:8000"})
	b := mustListen(t, ListenConfig{Dir: dir, Name: "127.0.0.1:8001"})
	c := mustListen(t, ListenConfig{Dir: dir, Name: "127.0.0.1:8001"})
	if filepath.Dir(a.Path()) != filepath.Dir(b.Path()) || a.Path() == b.Path() ||
		filepath.Base(c.Path()) != "127.0.0.1-8001-2.sock" {
		t.Errorf("sockets %s, %s and %s; want three of one directory, one numbered",
			a.Path(), b.Path(), c.Path())
	}
	for _, s := range []*Socket{a, b, c} {
		if alive, _ := listens(s.Path()); !alive {
			t.Errorf("nobody listens at %s: another service took it", s.Path())
		}
	}
}

// abandon leaves a socket's file as a killed process does.
func abandon(t *testing.T, path string) {
	t.Helper()
	ln, err := bind(path)
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	_ = ln.Close()
}

func TestDeadSocketsAreCleaned(t *testing.T) {
	dir := t.TempDir()
	first := mustListen(t, ListenConfig{Dir: dir, Name: "first"})
	place := filepath.Dir(first.Path())
	abandon(t, filepath.Join(place, "dead.sock"))
	abandon(t, filepath.Join(place, "second.sock"))
	elsewhere, err := Place(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	abandon(t, filepath.Join(elsewhere, "dead.sock"))
	second := mustListen(t, ListenConfig{Dir: dir, Name: "second"})
	if filepath.Base(second.Path()) != "second.sock" {
		t.Errorf("Listen = %s, want the place of a dead socket", second.Path())
	}
	if _, err := os.Lstat(filepath.Join(place, "dead.sock")); !os.IsNotExist(err) {
		t.Errorf("a dead service's socket is still there (%v)", err)
	}
	if _, err := os.Lstat(elsewhere); !os.IsNotExist(err) {
		t.Errorf("what a dead service left in another place is still there (%v)", err)
	}
	if alive, _ := listens(first.Path()); !alive {
		t.Error("the living neighbour's socket was cleaned away")
	}
}

func TestConfiguredPath(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "publish.sock")
	abandon(t, path)
	s := mustListen(t, ListenConfig{Path: path})
	_, err := Listen(ListenConfig{Path: path})
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), path) {
		t.Errorf("a second Listen at %s = %v, want ErrInUse with the path", path, err)
	}
	if alive, _ := listens(path); !alive {
		t.Error("the first service lost its socket to the one that was refused")
	}
	_ = s.Close()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Listen(ListenConfig{Path: path})
	if err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("Listen over a file = %v, want it refused", err)
	}
	if text, err := os.ReadFile(path); string(text) != "precious" {
		t.Errorf("the file is %q, %v; want it untouched", text, err)
	}
	if _, err := os.Lstat(dir); err != nil {
		t.Errorf("the operator's directory is gone: %v", err)
	}
}

func TestLeaveMakesRoomAndStaysReachable(t *testing.T) {
	dir := t.TempDir()
	old := mustListen(t, ListenConfig{Dir: dir, Name: "site"})
	path := old.Path()
	if err := old.Leave(); err != nil {
		t.Fatal(err)
	}
	next := mustListen(t, ListenConfig{Dir: dir, Name: "site"})
	if next.Path() != path {
		t.Errorf("the successor listens at %s, want %s", next.Path(), path)
	}
	if alive, _ := listens(path + leftSuffix); !alive {
		t.Error("the service that leaves cannot be reached beside its path")
	}
	if err := old.Close(); err != nil {
		t.Errorf("Close = %v, want nil", err)
	}
	if _, err := os.Lstat(path + leftSuffix); !os.IsNotExist(err) {
		t.Errorf("the socket of the service that left is left behind (%v)", err)
	}
	if alive, _ := listens(path); !alive {
		t.Error("the successor's socket went with the one that left")
	}
}

func TestHomeOfSomebodyElseIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	wide := filepath.Join(dir, "wide")
	if err := os.Mkdir(wide, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(wide, 0o770); err != nil {
		t.Fatal(err)
	}
	me := os.Geteuid()
	for _, c := range []struct {
		path string
		uid  int
		want string
	}{
		{dir, me, ""}, {dir, me + 1, "belongs to user"}, {file, me, "is not a directory"},
		{link, me, "is not a directory"}, {wide, me, "is open to others"},
	} {
		info, err := os.Lstat(c.path)
		if err != nil {
			t.Fatal(err)
		}
		err = checkHome(info, c.uid)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("checkHome(%s, %d) = %v, want %q", filepath.Base(c.path), c.uid, err, c.want)
		}
	}
}

func TestLongNamesFitASocket(t *testing.T) {
	s := mustListen(t, ListenConfig{Dir: t.TempDir(), Name: "unix:/srv/" + strings.Repeat("x", 200)})
	if c, err := net.Dial("unix", s.Path()); err != nil {
		t.Errorf("Dial(%s) = %v, want nil", s.Path(), err)
	} else {
		c.Close()
	}
}

// SPDX-License-Identifier: MIT

//go:build unix

// Package postgres runs a real PostgreSQL for a test, in a temporary directory on a
// port of the loopback. It uses the newest one that is installed, and skips the test
// where there is none.
package postgres

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
)

// A Cluster is a real PostgreSQL in a temporary directory, on a port of the
// loopback. Everybody may connect without a password but the role "shop".
type Cluster struct {
	bin, dir string
	Port     int
	as       []string           // what a program is started with to be the user postgres
	Server   *smoketest.Process // while it runs
}

// tools finds the newest PostgreSQL, or skips the test.
func tools(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		if path, err := exec.LookPath("initdb"); err == nil {
			return filepath.Dir(path)
		}
		t.Skip("SKIPPED: no PostgreSQL here; `go run ./tools setup` installs it")
	}
	slices.SortFunc(found, func(a, b string) int { return major(a) - major(b) })
	return filepath.Dir(found[len(found)-1])
}

func major(path string) int {
	n, _ := strconv.Atoi(strings.Split(path, "/")[4])
	return n
}

// New makes a cluster and starts it.
func New(t *testing.T) *Cluster {
	t.Helper()
	c := Stopped(t)
	c.Start(t)
	return c
}

// Stopped makes a cluster that does not run yet.
func Stopped(t *testing.T) *Cluster {
	t.Helper()
	c := &Cluster{bin: tools(t), Port: smoketest.FreePort(t)}
	dir, err := os.MkdirTemp("", "pg") // t.TempDir is closed to another user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c.dir = dir
	if os.Geteuid() == 0 { // which PostgreSQL refuses to be
		c.as = []string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"}
		own(t, dir)
	}
	c.run(t, "initdb", "-D", c.data(), "-U", "postgres", "-A", "trust", "--no-sync",
		"-E", "UTF8", "--locale=C")
	c.write(t, "postgresql.auto.conf", fmt.Sprintf("port = %d\nlisten_addresses = '127.0.0.1'\n"+
		"unix_socket_directories = '%s'\nfsync = off\nmax_connections = 30\n", c.Port, dir))
	c.write(t, "pg_hba.conf", "host all shop 127.0.0.1/32 scram-sha-256\n"+
		"host all all 127.0.0.1/32 trust\nlocal all all trust\n")
	return c
}

func own(t *testing.T, path string) {
	t.Helper()
	who, err := user.Lookup("postgres")
	if err != nil {
		t.Skipf("SKIPPED: root cannot run PostgreSQL, and there is no user for it: %v", err)
	}
	uid, _ := strconv.Atoi(who.Uid)
	gid, _ := strconv.Atoi(who.Gid)
	if err := os.Chown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// write replaces a file of the cluster and leaves its owner.
func (c *Cluster) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.data(), name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) command(program string, args ...string) *exec.Cmd {
	words := append(slices.Clone(c.as), filepath.Join(c.bin, program))
	words = append(words, args...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	return cmd
}

// run runs one of PostgreSQL's programs.
func (c *Cluster) run(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := c.command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
}

// Start starts the server in a group of its own, which ends with the test.
func (c *Cluster) Start(t *testing.T) {
	t.Helper()
	c.Server = smoketest.Run(t, c.command("postgres", "-D", c.data()))
	t.Cleanup(func() { _ = c.command("pg_ctl", "-D", c.data(), "-m", "immediate", "stop").Run() })
	smoketest.Until(t, "PostgreSQL to take connections", func() bool {
		return c.command("pg_isready", "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(c.Port)).Run() == nil
	})
}

// Stop ends the server like a crash.
func (c *Cluster) Stop(t *testing.T) {
	t.Helper()
	c.run(t, "pg_ctl", "-D", c.data(), "-m", "immediate", "-w", "stop")
	c.Server.Wait(t)
}

// Restart is pg_ctl restart -m immediate: a crash, and a new start at once.
func (c *Cluster) Restart(t *testing.T) {
	t.Helper()
	c.Stop(t)
	c.Start(t)
}

// DSN names database for the superuser.
func (c *Cluster) DSN(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", c.Port, database)
}

// TrySQL gives a script to psql, which stops at its first error, and returns what
// it printed.
func (c *Cluster) TrySQL(database, script string) (string, error) {
	cmd := c.command("psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=terse",
		"-h", "127.0.0.1", "-p", strconv.Itoa(c.Port), "-U", "postgres", "-d", database)
	cmd.Env = append(cmd.Env, "PGCLIENTENCODING=UTF8")
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// SQL is TrySQL for a script that has to succeed.
func (c *Cluster) SQL(t *testing.T, database, script string) string {
	t.Helper()
	out, err := c.TrySQL(database, script)
	if err != nil {
		t.Fatalf("psql: %v\n%s\n%.500s", err, out, script)
	}
	return out
}

// Notify is a statement that notifies m0, without anything of ours in its making.
func Notify(payload string) string {
	return "NOTIFY m0, '" + strings.ReplaceAll(payload, "'", "''") + "';\n"
}

// Listening is a condition on pg_stat_activity: the sessions of listeners.
const Listening = "application_name = 'm0serve --pg-listen'"

// Sessions is how many listeners are connected.
func (c *Cluster) Sessions(t *testing.T) int {
	t.Helper()
	text := c.SQL(t, "postgres", "SELECT count(*) FROM pg_stat_activity WHERE "+Listening)
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

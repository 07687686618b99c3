// SPDX-License-Identifier: MIT

//go:build linux

package engine

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// serverEnv makes the test binary a server, which is what it says: one that answers
// hello, something else, or hello and is never still.
const serverEnv = "ENGINE_TEST_SERVER"

func TestMain(m *testing.M) {
	if how := os.Getenv(serverEnv); how != "" {
		fmt.Fprintln(os.Stderr, serve(how))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func serve(how string) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if how == "restless" {
		go func() {
			for range time.Tick(time.Millisecond) {
			}
		}()
	}
	answer := hello
	if how == "wrong" {
		answer = "Good bye!"
	}
	fmt.Printf("listening on http://%s\n", ln.Addr())
	return http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, answer)
	}))
}

// house has one program that serves as how says, and another that does not start.
func house(t *testing.T, how, openloop string) House {
	t.Helper()
	t.Setenv(serverEnv, how)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o777); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return House{Httpd: script("httpd", "echo no such engine >&2\nexit 78\n"), Gnetd: self,
		Openloop: script("openloop", openloop)}
}

func run(t *testing.T, h House, w Workload) []Row {
	t.Helper()
	r := Runner{House: h, Rounds: 2, Length: time.Second, Second: 100 * time.Millisecond,
		Say: func(string) {}}
	rows, err := r.Run(t.Context(), w)
	if err != nil {
		t.Fatalf("Run = %v, want nil", err)
	}
	return rows
}

// TestAFailedSideIsNamed has a program that does not start beside one that serves.
func TestAFailedSideIsNamed(t *testing.T) {
	h := house(t, "hello", `echo '{"sent": 9, "quick_p99_ms": 1.5, "generator_p99_ms": 0.1}'`)
	rows := run(t, h, Workload{Kind: Steady, Sides: []string{native, gnet}})
	if !strings.Contains(rows[0].Why, "no such engine") {
		t.Errorf("a side that does not start: %+v, want why", rows[0])
	}
	if got := rows[1]; !got.isMeasured() || got.P99 != 1.5 || got.rounds != 2 {
		t.Errorf("the other side: %+v, want two rounds", got)
	}
}

// TestTheOrderTurns starts first what was last in the round before.
func TestTheOrderTurns(t *testing.T) {
	h := house(t, "hello", `echo '{"sent": 9}'`)
	h.Httpd = h.Gnetd
	var said []string
	r := Runner{House: h, Rounds: 2, Say: func(what string) { said = append(said, what) }}
	w := Workload{Name: "x", Kind: Steady, Sides: []string{native, gnet}}
	if _, err := r.Run(t.Context(), w); err != nil {
		t.Fatalf("Run = %v, want nil", err)
	}
	want := []string{"x: native, round 1 of 2", "x: gnet, round 1 of 2",
		"x: gnet, round 2 of 2", "x: native, round 2 of 2"}
	if !slices.Equal(said, want) {
		t.Errorf("order = %q, want %q", said, want)
	}
}

func TestAWrongAnswerIsNoFigure(t *testing.T) {
	rows := run(t, house(t, "wrong", ""), Workload{Kind: Steady, Sides: []string{gnet}})
	if want := `"Good bye!"`; !strings.Contains(rows[0].Why, want) {
		t.Errorf("a server that answers wrongly: %+v, want %s", rows[0], want)
	}
}

// TestRequestsThatFail fail the round.
func TestRequestsThatFail(t *testing.T) {
	h := house(t, "hello", `echo '{"sent": 9, "failed": 2}'`)
	rows := run(t, h, Workload{Kind: Steady, Sides: []string{gnet}})
	if want := "2 of 9 requests failed"; !strings.Contains(rows[0].Why, want) {
		t.Errorf("requests that fail: %+v, want %q", rows[0], want)
	}
}

// TestAServerThatIsNotStill wakes a thousand times a second.
func TestAServerThatIsNotStill(t *testing.T) {
	rows := run(t, house(t, "restless", ""), Workload{Kind: Still, Sides: []string{gnet}})
	if got := rows[0]; !got.isMeasured() || got.Watched != watchSeconds || got.Woken == 0 ||
		got.Still == got.Watched {
		t.Errorf("a server with a ticker: %+v, want wake-ups", got)
	}
}

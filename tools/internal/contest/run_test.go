// SPDX-License-Identifier: MIT

//go:build linux

package contest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// house is one whose server is a script.
func house(t *testing.T, script string) House {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	apps, err := filepath.Abs("../../rivals/python")
	if _, errStat := os.Stat(apps); errStat != nil {
		t.Skip("SKIPPED: the rivals are not packed with the module")
	}
	if err != nil {
		t.Fatal(err)
	}
	command := filepath.Join(t.TempDir(), "m0serve")
	if err := os.WriteFile(command, []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	return House{Python: python, Command: command, Apps: apps,
		Missing: map[string]string{"bjoern": "no compiler"}}
}

func run(t *testing.T, h House, w Workload) []Row {
	t.Helper()
	r := Runner{House: h, Rounds: 2, Length: 20 * time.Millisecond, Say: func(string) {}}
	rows, err := r.Run(t.Context(), w)
	if err != nil {
		t.Fatalf("Run = %v, want nil", err)
	}
	return rows
}

// TestAFailedSideIsNamed has a server that does not start and one that could not be
// built; the last side is measured all the same.
func TestAFailedSideIsNamed(t *testing.T) {
	h := house(t, "#!/bin/sh\necho no such module: bare >&2\nexit 78\n")
	rows := run(t, h, Workload{Name: "hello", Kind: WSGI, App: "bare:hello", Answer: helloLen,
		Sides: []string{ours, "bjoern", ceiling}})
	for i, want := range []string{"no such module: bare", "no compiler", ""} {
		if got := rows[i].Why; !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: Why = %q, want %q in it", rows[i].Side, got, want)
		}
	}
	if last := rows[2]; !last.isMeasured() || last.Rate <= 0 || last.rounds != 2 {
		t.Errorf("ceiling = %+v, want two rounds", last)
	}
}

// wrong serves with Python's own server, and answers something else.
const wrong = `#!/bin/sh
cd / && exec python3 -m http.server --bind "${2%:*}" "${2#*:}"
`

// TestAWrongAnswerIsNoFigure starts a server that answers, but not with what the
// application says.
func TestAWrongAnswerIsNoFigure(t *testing.T) {
	h := house(t, wrong)
	rows := run(t, h, Workload{App: "bare:hello", Answer: helloLen, Idle: true,
		Sides: []string{ours, bare}})
	if want := "bytes, <nil>, want 200, 13"; !strings.Contains(rows[0].Why, want) {
		t.Errorf("a server that answers wrongly: %+v, want %q", rows[0], want)
	}
	if got := rows[1]; !got.isMeasured() || got.Worker.Pss <= 0 {
		t.Errorf("bare interpreter = %+v, want its memory", got)
	}
}

// TestAnswersOfTheApplications calls those that need no framework.
func TestAnswersOfTheApplications(t *testing.T) {
	h := house(t, "")
	tried := 0
	for _, w := range WSGIWorkloads() {
		if !strings.HasPrefix(w.App, "bare:") || w.Idle {
			continue
		}
		tried++
		r := Runner{House: h, Length: time.Millisecond}
		if _, err := r.ceiling(t.Context(), w); err != nil {
			t.Errorf("%s: %v", w.Name, err)
		}
	}
	if tried < 4 {
		t.Errorf("%d workloads were tried, want 4 at least", tried)
	}
}

// SPDX-License-Identifier: MIT

//go:build unix

package wsgibare

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/pyserver"
)

// tables are the cases of one request each, by subject.
var tables = []struct {
	name  string
	cases []kase
}{
	{"environ", environCases},
	{"fields", fieldCases},
	{"body", bodyCases},
	{"chunks", chunkCases},
	{"status", statusCases},
	{"answer", answerFieldCases},
	{"shape", shapeCases},
	{"length", lengthCases},
	{"stream", streamCases},
	{"start", startCases},
	{"file", fileCases},
	{"fail", failCases},
	{"process", processCases},
	{"connection", connectionCases},
}

// casesMin is the number of cases that the suite is to hold.
const casesMin = 300

// serve starts the application and returns the suite about it.
func serve(t *testing.T, validate bool) *suite {
	t.Helper()
	cfg := pyserver.Config{
		Dir: ".", App: "app:app", Env: []string{"BARE_VARIABLE=set ü"}, Validate: validate,
	}
	if validate && pyserver.Name() != "m0serve" {
		cfg.App = "reference:validated"
	}
	s := &suite{p: servers.Start(t, cfg), validate: validate, prefix: "plain-"}
	if validate {
		s.prefix = "validated-"
	}
	return s
}

func TestSuite(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short: a smoke on the real server")
	}
	faults := knownFaults(t)
	for _, validate := range []bool{false, true} {
		name := map[bool]string{false: "plain", true: "validated"}[validate]
		t.Run(name, func(t *testing.T) {
			for _, table := range tables {
				t.Run(table.name, func(t *testing.T) {
					s := serve(t, validate)
					s.runTable(t, table.cases, faults)
					s.checkClean(t)
				})
			}
			t.Run("talks", func(t *testing.T) {
				s := serve(t, validate)
				s.runTalks(t, faults)
				s.checkClean(t)
			})
		})
	}
}

func (s *suite) runTable(t *testing.T, cases []kase, faults map[string]string) {
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			skipFault(t, k.name, faults)
			s.run(t, k)
		})
	}
}

func (s *suite) runTalks(t *testing.T, faults map[string]string) {
	for _, k := range talks {
		t.Run(k.name, func(t *testing.T) {
			skipFault(t, k.name, faults)
			k.run(t, s, s.id(k.name))
		})
	}
}

// checkClean makes sure that the server runs on, and looks at the log for what
// validation finds behind an answer.
func (s *suite) checkClean(t *testing.T) {
	t.Helper()
	if state := s.p.Ended(); state != "" {
		t.Errorf("the server ended by itself: %s", state)
	}
	if !s.validate || pyserver.Name() != "m0serve" {
		return
	}
	if strings.Contains(s.p.Log(), "garbage collected without being closed") {
		t.Error("wsgiref.validate: an iterable was never closed")
	}
}

// TestCasesAreNamedOnce keeps names unique, since they are keys, and counts cases.
func TestCasesAreNamedOnce(t *testing.T) {
	seen := map[string]bool{}
	name := func(n string) {
		if seen[n] {
			t.Errorf("two cases are called %q", n)
		}
		seen[n] = true
	}
	for _, table := range tables {
		for _, k := range table.cases {
			name(k.name)
		}
	}
	for _, k := range talks {
		name(k.name)
	}
	if len(seen) < casesMin {
		t.Errorf("%d cases, want at least %d", len(seen), casesMin)
	}
	for n := range knownFaults(t) {
		if !seen[n] {
			t.Errorf("testdata/faults.txt: there is no case %q", n)
		}
	}
}

// knownFaults reads what a reference server is known to get wrong, by case. m0serve
// has no entry.
func knownFaults(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open("testdata/faults.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	faults := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) > 1 && words[0] == pyserver.Name() {
			faults[words[1]] = strings.Join(words[2:], " ")
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return faults
}

// skipFault skips a case that the server is known to fail; M0_SUITE_FAULTS=run runs
// it all the same.
func skipFault(t *testing.T, name string, faults map[string]string) {
	t.Helper()
	if why, known := faults[name]; known && os.Getenv("M0_SUITE_FAULTS") != "run" {
		t.Skipf("SKIPPED: %s is known to fail this: %s", pyserver.Name(), why)
	}
}

// SPDX-License-Identifier: MIT

package prove

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"m0serve.dev/tools/internal/tree"
)

// write makes files of a repository and returns its top.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	top := t.TempDir()
	for name, text := range files {
		file := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func TestTargets(t *testing.T) {
	const head = "package x\n\nimport \"testing\"\n\n"
	top := write(t, map[string]string{
		"core/go.mod": "module m0serve.dev/core\n",
		"core/a/a_test.go": head + "func FuzzB(f *testing.F) {}\nfunc FuzzA(g *testing.F) {}\n" +
			"func Fuzzy(f *testing.F) {}\nfunc FuzzC(t *testing.T) {}\nfunc (x) FuzzD(f *testing.F) {}\n",
		"core/a/a.go":         head + "func FuzzE(f *testing.F) {}\n",
		"core/ab/b_test.go":   head + "func Fuzz(f *testing.F) {}\n",
		"tools/go.mod":        "module m0serve.dev/tools\n",
		"tools/r/go.mod":      "module m0serve.dev/tools/r\n",
		"tools/r/f/f_test.go": head + "func FuzzNested(f *testing.F) {}\n",
	})
	loaded, err := tree.Load(top)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ in, want string }{
		{"", "core/a FuzzA, core/a FuzzB, core/ab Fuzz, tools/r/f FuzzNested"},
		{"core/a", "core/a FuzzA, core/a FuzzB"},
		{"./core/...", "core/a FuzzA, core/a FuzzB, core/ab Fuzz"},
		{"core/ab,tools", "core/ab Fuzz, tools/r/f FuzzNested"},
		{"http", ""},
	} {
		var in, got []string
		if tt.in != "" {
			in = strings.Split(tt.in, ",")
		}
		for _, target := range Targets(loaded, in) {
			got = append(got, target.String())
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("Targets(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestEach(t *testing.T) {
	for _, tt := range []struct {
		hours   float64
		targets int
		want    time.Duration
	}{
		{0, 60, 10 * time.Minute}, {1, 60, time.Minute}, {100, 60, 10 * time.Minute},
		{0.001, 60, time.Second}, {1, 0, 10 * time.Minute}, {1, 7, 514 * time.Second},
	} {
		if got := Each(tt.hours, tt.targets); got != tt.want {
			t.Errorf("Each(%v, %d) = %v, want %v", tt.hours, tt.targets, got, tt.want)
		}
	}
}

func TestFuzzed(t *testing.T) {
	var f Fuzzed
	for line := range strings.Lines(`fuzz: elapsed: 0s, gathering baseline coverage: 0/12 completed
fuzz: elapsed: 0s, gathering baseline coverage: 12/12 completed, now fuzzing with 2 workers
fuzz: elapsed: 3s, execs: 63131 (21043/sec), new interesting: 4 (total: 16)
fuzz: elapsed: 6s, execs: 120000 (18956/sec), new interesting: 5 (total: 17)
--- FAIL: FuzzA (6.00s)
    --- FAIL: FuzzA (0.00s)
        a_test.go:7: it is wrong
    
    Failing input written to testdata/fuzz/FuzzA/0d57d0cc6eca5da9
`) {
		f.Line(strings.TrimSuffix(line, "\n"))
	}
	if f.Execs != 120000 || f.Interesting != 5 || !f.Failed || !f.Fuzzing() {
		t.Errorf("Fuzzed = %+v, want 120000 executions, 5 new, failed", f)
	}
	target := Target{Dir: "core/a", Name: "FuzzA"}
	const want = "core/a FuzzA: core/a/testdata/fuzz/FuzzA/0d57d0cc6eca5da9"
	if got := f.Where(target); got != want {
		t.Errorf("Where = %q, want %q", got, want)
	}
	if !strings.Contains(f.Detail(), "it is wrong") {
		t.Errorf("Detail = %q, want the reason in it", f.Detail())
	}
	var none Fuzzed
	none.Line("ok  	m0serve.dev/core/a	0.005s [no tests to run]")
	if none.Fuzzing() {
		t.Error("Fuzzing of a run without executions = true, want false")
	}
}

func TestGrowth(t *testing.T) {
	line := func(slope float64, files int) (list []Sample) {
		for i := range 20 {
			n := i * 50_000
			jump := 5e6 * float64(min(i, 5)) // what fills up at first does not count
			list = append(list, Sample{n, 40e6 + jump + slope*float64(n), 60 + files*i, 9e4})
		}
		return list
	}
	objects := func(each float64) []Sample {
		list := line(0, 0)
		for i := range list {
			list[i].Objects += each * float64(list[i].Requests)
		}
		return list
	}
	for _, tt := range []struct {
		samples []Sample
		want    string // in the error
	}{
		{objects(0.04), ""}, {objects(0.2), "objects grow by 0.20 a request"}, {objects(-1), ""},
		{line(0, 0), ""}, {line(7, 0), ""}, {line(-40, 0), ""},
		{line(9, 0)[12:], ""},
		{line(9, 0), "grows by 9.0 bytes a request"}, {line(0, 1), "descriptors grow from 70 to 79"},
		{line(0, 0)[:3], "3 samples say nothing"}, {nil, "0 samples"},
	} {
		said, err := Growth(tt.samples)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Growth = %q, %v, want %q", said, err, tt.want)
		}
	}
	if said, _ := Growth(line(2, 0)); !strings.HasPrefix(said, "950000 requests") ||
		!strings.Contains(said, "+2.00 bytes a request") {
		t.Errorf("Growth said %q, want requests and slope", said)
	}
}

func TestSoak(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		if r.URL.Path == "/close" {
			w.Header().Set("Connection", "close")
		}
		_, _ = w.Write([]byte("body"))
	}))
	defer server.Close()
	get := func(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n" }
	looks := 0
	soak := Soak{Addr: strings.TrimPrefix(server.URL, "http://"),
		Requests: []string{get("/a"), get("/n$N"), get("/close")}, Count: 1200, Samples: 2,
		Rude: []string{get("/rude$N")},
		Look: func() (Sample, error) { looks++; return Sample{Files: looks}, nil }, Say: func(string) {}}
	samples, err := soak.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if last := samples[len(samples)-1]; last.Requests != 1200 || last.Files != looks || looks < 2 {
		t.Errorf("samples = %+v, want looks up to 1200 requests", samples)
	}
	mu.Lock()
	defer mu.Unlock()
	if asked["/rude0"] != 1 || asked["/rude500"] != 1 || asked["/rude1000"] != 1 {
		t.Errorf("asked for %v, want a rude request for each connection", asked)
	}
	if asked["/n1"] != 1 || asked["/a"] < 400 || asked["/close"] != 400 {
		t.Errorf("asked for /n1 %d times, /a %d, /close %d; want 1, 400 and 400", asked["/n1"],
			asked["/a"], asked["/close"])
	}
	server.Close()
	_, err = soak.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "after 0 requests") {
		t.Errorf("Run without a server = %v, want where it stopped", err)
	}
}

func TestMutants(t *testing.T) {
	m := Mutants{Made: 6}
	for _, c := range []struct {
		fate, change string
		reviewed     bool
	}{
		{Killed, "a", false}, {Lived, "d", false}, {Lived, "c", true}, {TimedOut, "b", false},
		{NotCovered, "a < b", false},
	} {
		m.Count(c.fate, c.change, c.reviewed)
	}
	const want = "5 of 6 changes: 1 killed, 1 timed out, 2 lived, 1 not reached " +
		"(1 of these reviewed): 40.0 %"
	if m.String() != want {
		t.Errorf("Mutants = %s, want %s", &m, want)
	}
	if got := strings.Join(m.Survivors, "; "); got != "a < b, not reached; d" {
		t.Errorf("Survivors = %q, want those that nobody reviewed, sorted", got)
	}
	m.Add(m)
	if m.Made != 12 || m.Tried() != 10 || m.Reviewed != 2 || len(m.Survivors) != 4 {
		t.Errorf("Add = %+v, want twice as much", m)
	}
}

func TestMakeVulnDB(t *testing.T) {
	report := func(id, module, events, more string) string {
		return `{"id":"` + id + `","aliases":["CVE-1"],"affected":[
			{"package":{"name":"` + module + `"},"ranges":[{"events":[` + events + `]}]}` + more + `]}`
	}
	const two = `{"introduced":"0"},{"fixed":"1.1.0"},{"introduced":"1.2.0"}`
	top := write(t, map[string]string{
		"osv/GO-1.json": report("GO-1", "m.dev/a", two+`,{"fixed":"1.2.3"}`, ""),
		"osv/GO-2.json": report("GO-2", "m.dev/b", two, ""),
		"osv/GO-3.json": report("GO-3", "m.dev/c", `{"introduced":"0"},{"fixed":"9.9.9"}`,
			`,{"package":{"name":"m.dev/c"},"ranges":[]}`),
		"osv/GO-4.json": `{"id":"GO-4","withdrawn":"2026-01-01T00:00:00Z"}`,
	})
	dir := filepath.Join(top, "db")
	n, err := MakeVulnDB(filepath.Join(top, "osv"), dir)
	if n != 3 || err != nil {
		t.Fatalf("MakeVulnDB = %d, %v, want 3 reports", n, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "index", "modules.json"))
	if err != nil {
		t.Fatal(err)
	}
	const zero = `"modified":"0001-01-01T00:00:00Z"`
	const want = `[{"path":"m.dev/a","vulns":[{"id":"GO-1",` + zero + `,"fixed":"1.2.3"}]},` +
		`{"path":"m.dev/b","vulns":[{"id":"GO-2",` + zero + `}]},` +
		`{"path":"m.dev/c","vulns":[{"id":"GO-3",` + zero + `}]}]`
	if string(text) != want {
		t.Errorf("modules.json = %s\nwant %s", text, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "ID", "GO-2.json")); err != nil {
		t.Error(err)
	}
	if _, err := MakeVulnDB(filepath.Join(top, "none"), dir); err == nil {
		t.Error("MakeVulnDB of an empty folder = nil, want an error")
	}
}

func TestVulns(t *testing.T) {
	v := Vulns{}
	const present = `{"config":{"scanner_name":"govulncheck"}}
{"finding":{"osv":"GO-1","fixed_version":"v1.2.3","trace":[{"module":"m.dev/a","version":"v1"}]}}
{"finding":{"osv":"GO-2","trace":[{"module":"stdlib","version":"go1.26"}]}}`
	const called = `
{"finding":{"osv":"GO-1","fixed_version":"v1.2.3","trace":[{"module":"m.dev/a","version":"v1",
 "package":"m.dev/a/x","function":"Do"}]}}`
	if err := errors.Join(v.Add("core", present), v.Add("http", present+called)); err != nil {
		t.Fatal(err)
	}
	isCalled, isPresent := v.Sorted()
	if len(isCalled) != 1 ||
		isCalled[0].String() != "GO-1 in m.dev/a@v1, fixed in v1.2.3: called by http" {
		t.Errorf("called = %v, want GO-1 by http", isCalled)
	}
	const two = "GO-2 in stdlib@go1.26, fixed in no version: not called; in core, http"
	if len(isPresent) != 1 || isPresent[0].String() != two {
		t.Errorf("present = %v, want GO-2 in both", isPresent)
	}
	for _, bad := range []string{"", "x", `{"finding":`} {
		if err := v.Add("core", bad); err == nil {
			t.Errorf("Add(%q) = nil, want an error", bad)
		}
	}
}

func TestReport(t *testing.T) {
	r := Report{Command: "go run ./tools prove", Commit: "abc", Machine: "a machine"}
	r.Results = []Result{
		{Part: "race", Ran: "7 tests", Took: 61 * time.Second},
		{Part: "asan", Skipped: "there is no gcc"},
		{Part: "fuzz", Ran: "2 targets | each", Found: []string{"core/a FuzzA: core/a/testdata/x"},
			Err: errors.New("one\ntwo")},
	}
	md := r.Markdown()
	for _, want := range []string{
		"Commit abc, on a machine:\n\n    go run ./tools prove\n",
		"| race | ok | 7 tests | 1m1s |\n", "| asan | not run | there is no gcc | 0s |\n",
		"| fuzz | FAILED | 2 targets \\| each | 0s |\n",
		"\n## fuzz\n\n- `core/a FuzzA: core/a/testdata/x`\n\n    one\n    two\n",
	} {
		if !strings.Contains(md, want) {
			t.Errorf("Markdown has no %q in\n%s", want, md)
		}
	}
	const absent = "asan         not run        0s  there is no gcc\n"
	if text := r.Text(); !strings.Contains(text, absent) ||
		!strings.Contains(text, "\n    core/a FuzzA") {
		t.Errorf("Text = %s", text)
	}
	if got := r.Failed(); len(got) != 1 || got[0] != "fuzz" {
		t.Errorf("Failed = %q, want fuzz", got)
	}
}

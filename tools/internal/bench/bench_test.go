// SPDX-License-Identifier: MIT

package bench

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestFigure(t *testing.T) {
	tests := []struct {
		name string
		f    Figure
		want string // how the line ends
	}{
		{"more and enough", Figure{Ours: 20, Other: 10, Ratio: 2, MoreIsBetter: true}, ">= 2.00x met"},
		{"more and too little", Figure{Ours: 19, Other: 10, Ratio: 2, MoreIsBetter: true},
			">= 2.00x MISSED"},
		{"less and enough", Figure{Ours: 5, Other: 10, Ratio: 0.5}, "<= 0.50x met"},
		{"less and too much", Figure{Ours: 6, Other: 10, Ratio: 0.5}, "<= 0.50x MISSED"},
		{"over the limit", Figure{Ours: 6, Other: 10, Ratio: 1, Limit: 5}, "and <= 5.00 MISSED"},
		{"below the limit", Figure{Ours: 4, Other: 10, Ratio: 1, Limit: 5}, "and <= 5.00 met"},
		{"limit alone", Figure{Ours: 6, Other: 1, Limit: 5}, "<= 5.00 MISSED"},
		{"as much over as allowed", Figure{Ours: 12, Other: 2, Over: 10}, "<= rival + 10.0 met"},
		{"too much over", Figure{Ours: 13, Other: 2, Over: 10}, "<= rival + 10.0 MISSED"},
		{"why not", Figure{Ours: 1, Why: "no compiler"}, "NOT MEASURED (no compiler)"},
		{"no target", Figure{Ours: 6, Other: 1}, "none met"},
		{"ours not measured", Figure{Other: 1}, "NOT MEASURED"},
		{"rival not measured", Figure{Ours: 1, MoreIsBetter: true}, "NOT MEASURED"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(strings.Fields(tt.f.String()), " ")
			if !strings.HasSuffix(got, tt.want) {
				t.Errorf("String() = %q, want the end %q", got, tt.want)
			}
			if met := strings.HasSuffix(tt.want, " met"); tt.f.Met() != met {
				t.Errorf("Met() = %v, want %v", tt.f.Met(), met)
			}
		})
	}
}

func TestBest(t *testing.T) {
	least, most := Best{}, Best{More: true}
	for _, x := range []float64{3, 1, 2} {
		least.Add(x)
		most.Add(x)
	}
	if least.Value() != 1 || most.Value() != 3 {
		t.Errorf("best of 3, 1, 2 = %v and %v, want 1 and 3", least.Value(), most.Value())
	}
}

const wrkOutput = `Running 3s test @ http://127.0.0.1:8080/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   500.00us    1.00ms  20.00ms   90.00%
  Latency Distribution
     50%  244.00us
     75%  300.00us
     90%    1.00ms
     99%    1.21s 
  421234 requests in 3.00s, 60.00MB read
Requests/sec: 140411.33
Transfer/sec:     20.00MB
`

func TestParseWrk(t *testing.T) {
	got, n, err := parseWrk(wrkOutput)
	want := Load{Rate: 140411.33, P50: 0.244, P99: 1210}
	if got != want || n != 421234 || err != nil {
		t.Errorf("parseWrk = %+v, %v, %v, want %+v, 421234", got, n, err, want)
	}
	const trouble = "connect 0, read 7, write 0, timeout 0"
	got, _, err = parseWrk(strings.Replace(wrkOutput, "Requests/sec",
		"  Socket errors: "+trouble+"\nRequests/sec", 1))
	if got.Trouble != trouble || err != nil {
		t.Errorf("parseWrk with errors of sockets = %+v, %v, want them in Trouble", got, err)
	}
	for _, bad := range []string{
		"",
		"unable to connect to 127.0.0.1:8080 Connection refused\n",
		strings.Replace(wrkOutput, "Requests/sec", "  Non-2xx or 3xx responses: 4\nRequests/sec", 1),
		strings.Replace(wrkOutput, "421234", "0", 1),
	} {
		if got, n, err := parseWrk(bad); err == nil {
			t.Errorf("parseWrk(%q) = %+v, %v, want an error", bad, got, n)
		}
	}
}

// TestIsFull tells a run that the load held up from one that the server did.
func TestIsFull(t *testing.T) {
	for _, tt := range []struct {
		generator, server int // hundredths of the wall's time
		want              bool
	}{{99, 60, true}, {99, 99, false}, {50, 99, false}, {50, 50, false}, {198, 60, true}} {
		percent := func(n int) time.Duration { return time.Duration(n) * 20 * time.Millisecond }
		got := isFull(percent(100), percent(tt.generator), percent(tt.server))
		if got != tt.want {
			t.Errorf("isFull(load %d %%, server %d %%) = %v, want %v",
				tt.generator, tt.server, got, tt.want)
		}
	}
}

func TestWrkArgs(t *testing.T) {
	w := Wrk{Conns: 32, Path: "/a", Headers: []string{"A: b"}, Script: "s.lua",
		Length: 2 * time.Second, Free: true}
	want := "wrk --latency --timeout 30s -t1 -c32 -d2s -H A: b -s s.lua http://1.2.3.4:5/a"
	if got := strings.Join(w.args("1.2.3.4:5"), " "); got != want {
		t.Errorf("args = %q, want %q", got, want)
	}
}

func TestParseMemory(t *testing.T) {
	got := parseMemory("55 a [rollup]\nRss:   2048 kB\nPss:  1536 kB\nPss_Dirty: 9 kB\n")
	if want := (Memory{Pss: 1.5, RSS: 2}); got != want {
		t.Errorf("parseMemory = %+v, want %+v", got, want)
	}
}

func TestParseGoBench(t *testing.T) {
	got := ParseGoBench("goos: linux\nBenchmarkA/ours-2   \t 100\t 20.5 ns/op\t 3 B/op\n" +
		"BenchmarkA/ours-2 100 10 ns/op\nBenchmarkA/ours-2 100 30 ns/op\nBenchmarkB 7 1.5e3 ns\nPASS\n")
	if len(got) != 1 || got["A/ours"] != 10 {
		t.Errorf("ParseGoBench = %v, want A/ours 10 alone", got)
	}
}

func TestParseCPU(t *testing.T) {
	stat := "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 123 45 0 0 20 0 5 0 100 0 0"
	got, err := parseCPU(stat)
	if want := 1680 * time.Millisecond; got != want || err != nil {
		t.Errorf("parseCPU = %v, %v, want %v", got, err, want)
	}
	for _, bad := range []string{"", "7 (a) S 1", "7 (a) S 1 7 7 0 -1 4194560 100 0 0 0 x 45 0"} {
		if got, err := parseCPU(bad); err == nil {
			t.Errorf("parseCPU(%q) = %v, want an error", bad, got)
		}
	}
}

// TestParseSwitches adds up both kinds, by itself and for others.
func TestParseSwitches(t *testing.T) {
	status := "Name:\tvoluntary_ctxt_switches: 5\nThreads:\t3\n" +
		"voluntary_ctxt_switches:\t120\nnonvoluntary_ctxt_switches:\t7\n"
	if got := parseSwitches(status); got != 127 {
		t.Errorf("parseSwitches = %d, want 127", got)
	}
}

func TestBusySince(t *testing.T) {
	before := readCores("cpu  9 9 9 9 9 9\ncpu0 100 0 0 900 0 0\ncpu1 0 0 0 0 0 0\nintr 5\n")
	after := readCores("cpu  9 9 9 9 9 9\ncpu0 150 0 25 925 0 0\ncpu1 10 0 0 80 10 0\nintr 6\n")
	if got, want := busySince(before, after), "busy: core 0 75 %, core 1 10 %"; got != want {
		t.Errorf("busySince = %q, want %q", got, want)
	}
}

func TestMachine(t *testing.T) {
	if got := cpuName("x: y\nmodel name\t: Some CPU 3000\n"); got != "Some CPU 3000" {
		t.Errorf("cpuName = %q, want Some CPU 3000", got)
	}
	for load, want := range map[string]bool{"0.20": false, "1.01": true, "unknown": false} {
		if got := (Machine{Load: load}).IsBusy(); got != want {
			t.Errorf("IsBusy at load %s = %v, want %v", load, got, want)
		}
	}
	if got := ThisMachine().String(); !strings.Contains(got, " cores, ") {
		t.Errorf("ThisMachine() = %q, want its cores in it", got)
	}
}

// TestServer plays the server itself: the line it waits for, a server that ends
// without it, and one that leaves a child behind.
func TestServer(t *testing.T) {
	if role := os.Getenv("M0_BENCH_PLAY"); role != "" {
		play(role)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("M0_BENCH_PLAY", "listen")
	s, err := Start(t.Context(), self, "-test.run=^TestServer$")
	if err != nil {
		t.Fatalf("Start = %v, want nil", err)
	}
	if s.Addr != "127.0.0.1:7" {
		t.Errorf("Addr = %q, want 127.0.0.1:7", s.Addr)
	}
	s.Stop()
	t.Setenv("M0_BENCH_PLAY", "end")
	s, err = Start(t.Context(), self, "-test.run=^TestServer$")
	if err == nil {
		s.Stop()
	}
	if err == nil || !strings.Contains(err.Error(), "no such module") {
		t.Errorf("Start of a program that ends = %v, want its last line in it", err)
	}
}

func play(role string) {
	switch role {
	case "listen":
		os.Stderr.WriteString("hello\nlistening on http://127.0.0.1:7 (workers 1)\n")
		time.Sleep(time.Minute) // it is ended long before
	case "parent":
		child := exec.Command(os.Args[0], os.Args[1:]...)
		child.Env = append(os.Environ(), "M0_BENCH_PLAY=listen")
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString("listening on http://child:" + strconv.Itoa(child.Process.Pid) + "\n")
		time.Sleep(time.Minute) // it is ended long before
	}
	os.Stderr.WriteString("no such module\n")
	os.Exit(1)
}

func TestRatio(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0.00", 0.00032: "0.0003", 0.01: "0.01", 3.456: "3.46",
	} {
		if got := Ratio(x); got != want {
			t.Errorf("Ratio(%v) = %q, want %q", x, got, want)
		}
	}
}

func TestParseGoCPU(t *testing.T) {
	got := ParseGoCPU("BenchmarkA/ours-2 \t 100\t 12.5 ns/op\t 1.5e+03 cpu-ns/op\t 2 allocs/op\n" +
		"BenchmarkA/ours-2 \t 100\t 12.5 ns/op\t 1200 cpu-ns/op\nBenchmarkB-2 100 7 ns/op\n")
	if len(got) != 1 || got["A/ours"] != 1200 {
		t.Errorf("ParseGoCPU = %v, want 1200 of A/ours alone", got)
	}
}

// TestParseGoAllocs takes the least of a benchmark, and nothing of one that counts none.
func TestParseGoAllocs(t *testing.T) {
	got := ParseGoAllocs("BenchmarkPage/ours-2 \t 100\t 12.5 ns/op\t 16 B/op\t 2 allocs/op\n" +
		"BenchmarkPage/ours-2 \t 100\t 12.5 ns/op\t 1.50 MB/s\t 0 B/op\t 1 allocs/op\n" +
		"BenchmarkPage/theirs \t 100\t 12.5 ns/op\nBenchmarkNone-2 1 1 ns/op 0 allocs/op\n")
	if len(got) != 2 || got["Page/ours"] != 1 {
		t.Errorf("ParseGoAllocs = %v, want 1 of Page/ours, and None", got)
	}
}

func TestTable(t *testing.T) {
	got := Table("work", []string{"req/s", "p50 ms", "notes"}, []Line{
		{Side: "ours", Cells: []string{RateCell(12345678, true), Cell(0)},
			Notes: []string{"(slow)", "(late)"}, Full: true},
		{Side: "a rival", Cells: []string{"1", Cell(2.5)}},
		{Side: "none", Cells: []string{"7", "8"}, Why: "it is\nnot there"},
	})
	const want = "work         req/s  p50 ms  notes\n" +
		"ours     12345678*       -  (slow)  (late)\n" +
		"a rival          1    2.50\n" +
		"none     not measured: it is\n" +
		"         not there\n" +
		"* the load's core was full: compare CPU"
	if got != want {
		t.Errorf("Table =\n%s\nwant\n%s", got, want)
	}
}

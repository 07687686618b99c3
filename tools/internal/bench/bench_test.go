// SPDX-License-Identifier: MIT

package bench

import (
	"os"
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
  421234 requests in 3.00s, 60.00MB read
Requests/sec: 140411.33
Transfer/sec:     20.00MB
`

func TestParseWrk(t *testing.T) {
	rate, n, err := parseWrk(wrkOutput)
	if rate != 140411.33 || n != 421234 || err != nil {
		t.Errorf("parseWrk = %v, %v, %v, want 140411.33, 421234", rate, n, err)
	}
	for _, bad := range []string{
		"",
		"unable to connect to 127.0.0.1:8080 Connection refused\n",
		strings.Replace(wrkOutput, "Requests/sec", "  Socket errors: connect 0, read 7\nRequests/sec", 1),
		strings.Replace(wrkOutput, "Requests/sec", "  Non-2xx or 3xx responses: 4\nRequests/sec", 1),
		strings.Replace(wrkOutput, "421234", "0", 1),
	} {
		if rate, n, err := parseWrk(bad); err == nil {
			t.Errorf("parseWrk(%q) = %v, %v, want an error", bad, rate, n)
		}
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

// TestServer plays the server itself: the line it waits for, and a server that
// ends without it.
func TestServer(t *testing.T) {
	if os.Getenv("M0_BENCH_PLAY") != "" {
		play(os.Getenv("M0_BENCH_PLAY"))
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
	if s, err := Start(t.Context(), self, "-test.run=^TestServer$"); err == nil {
		s.Stop()
		t.Error("Start of a program that ends = nil, want an error")
	}
}

func play(role string) {
	if role == "listen" {
		os.Stdout.WriteString("hello\nlistening on http://127.0.0.1:7 (workers 1)\n")
		select {}
	}
	os.Exit(0)
}

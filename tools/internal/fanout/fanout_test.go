// SPDX-License-Identifier: MIT

package fanout

import (
	"slices"
	"strings"
	"testing"

	"m0serve.dev/tools/internal/bench"
)

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	tests := []struct {
		of   []float64
		p    int
		want float64
	}{
		{hundred, 50, 50}, {hundred, 99, 99}, {hundred, 100, 100},
		{[]float64{3, 1, 2}, 50, 2}, {[]float64{3, 1, 2}, 99, 3}, {[]float64{7}, 50, 7}, {nil, 50, 0},
	}
	for _, tt := range tests {
		if got := percentile(tt.of, tt.p); got != tt.want {
			t.Errorf("percentile(%d values, %d) = %v, want %v", len(tt.of), tt.p, got, tt.want)
		}
	}
	if hundred[0] != 100 {
		t.Errorf("percentile sorted what it was given: first = %v, want 100", hundred[0])
	}
}

// TestRowKeepsTheBest of what a machine makes worse, and the worst of what it cannot.
func TestRowKeepsTheBest(t *testing.T) {
	r := Row{Workload: Fanout, Side: ours}
	r.add(Row{IdleKB: 3, LiveKB: 2, TurnMs: 8, AfterKB: 5, CPU: 9, P50: 4, P99: 9, Ack: 2,
		Got: 10, Wanted: 10})
	r.add(Row{IdleKB: 4, LiveKB: 1, TurnMs: 9, AfterKB: 4, CPU: 8, P50: 5, P99: 8, Ack: 3,
		Got: 7, Wanted: 10, Lost: 2, Mixed: true, Again: 1})
	r.add(Row{IdleKB: 5, LiveKB: 3, TurnMs: 4, AfterKB: 6, CPU: 7, P50: 6, P99: 7, Ack: 1,
		Got: 10, Wanted: 10})
	want := Row{Workload: Fanout, Side: ours, IdleKB: 3, LiveKB: 1, TurnMs: 4, AfterKB: 4,
		CPU: 7, P50: 4, P99: 7, Ack: 1, Got: 7, Wanted: 10, Lost: 2, Mixed: true, Again: 1, rounds: 3}
	if r != want {
		t.Errorf("best of three = %+v, want %+v", r, want)
	}
	if r.isMeasured() {
		t.Errorf("isMeasured = true for a row that lost events, want false")
	}
}

// rowsOf are rows of one round, all alike but for what is changed in them.
func rowsOf(w Workload, of Row, change map[string]func(*Row)) []Row {
	var rows []Row
	for _, side := range w.Sides {
		r := Row{Workload: w.Kind, Side: side}
		r.add(of)
		if f := change[side]; f != nil {
			f(&r)
		}
		rows = append(rows, r)
	}
	return rows
}

func TestFigures(t *testing.T) {
	w := func(kind Kind) Workload {
		all := slices.Concat(Workloads(true), StreamsWorkloads(true))
		return all[slices.IndexFunc(all, func(w Workload) bool { return w.Kind == kind })]
	}
	same := Row{LiveKB: 10, TurnMs: 16, IdleKB: 10, AfterKB: 10, CPU: 20, P50: 10, P99: 10,
		Ack: 0.5, Got: 600, Wanted: 600}
	cpu := func(us float64) func(*Row) { return func(r *Row) { r.CPU = us } }
	tests := []struct {
		name   string
		kind   Kind
		change map[string]func(*Row)
		figure string // its name, unit and rival
		met    bool
		target string
	}{
		{"as much memory as nchan", Fanout, nil, "realtime memory KB/stream nchan", false, "<= 0.20x"},
		{"a fifth of nchan's", Fanout, map[string]func(*Row){ours: func(r *Row) { r.IdleKB = 2 }},
			"realtime memory KB/stream nchan", true, "<= 0.20x"},
		{"a fifth of net/http's", Fanout, map[string]func(*Row){ours: func(r *Row) { r.AfterKB = 2 }},
			"realtime memory after KB/stream nethttp", false, "<= 0.10x"},
		{"CPU as nchan", Fanout, nil, "realtime delivery CPU us nchan", true, "<= 1.00x"},
		{"CPU above both", Fanout, map[string]func(*Row){ours: cpu(21)},
			"realtime delivery CPU us nchan", false, "<= 1.00x"},
		{"CPU above nchan's, below 11 us", Fanout, map[string]func(*Row){ours: cpu(10.9), nchan: cpu(5)},
			"realtime delivery CPU us nchan", true, "<= 11.0"},
		{"as fast as the floor", Fanout, nil, "realtime last stream p50 ms floor", true, "<= 1.30x"},
		{"as slow as pushpin", Fanout, nil, "realtime last stream p50 ms pushpin", false, "<= 0.40x"},
		{"the rival lost events", Fanout, map[string]func(*Row){
			oursGRIP: func(r *Row) { r.P50 = 1 }, pushpin: func(r *Row) { r.Lost = 1 }},
			"realtime last stream p50 ms pushpin", false, "<= 0.40x"},
		{"a KB in use", Streams, map[string]func(*Row){oursGo: func(r *Row) { r.LiveKB = 1 }},
			"streams live memory KB/stream fasthttp", true, "<= 1.00x and <= 1.00"},
		{"more than a KB", Streams, nil, "streams live memory KB/stream gosse", false,
			"<= 1.00x and <= 1.00"},
		{"CPU as net/http", Streams, nil, "streams delivery CPU us nethttp", false, "<= 0.80x"},
		{"CPU as nchan in Go", Streams, nil, "streams delivery CPU us nchan", true, "<= 1.00x"},
		{"CPU of a bare loop, and more", Streams, map[string]func(*Row){oursGo: cpu(26.1)},
			"streams delivery CPU us floor", false, "<= 1.30x"},
		{"a long turn", Streams, nil, "streams longest turn ms bound", false, "<= 1.00x"},
		{"a turn of 8 ms", Streams, map[string]func(*Row){oursGo: func(r *Row) { r.TurnMs = 8.2 }},
			"streams longest turn ms bound", true, "<= 1.00x"},
		{"all came", Stalled, nil, "realtime beside stalled events published", true, ">= 1.00x"},
		{"one did not", Stalled, map[string]func(*Row){ours: func(r *Row) { r.Got-- }},
			"realtime beside stalled events published", false, ">= 1.00x"},
		{"in no order", Stalled, map[string]func(*Row){ours: func(r *Row) { r.Mixed = true }},
			"realtime beside stalled events published", false, ">= 1.00x"},
		{"busy as idle", Busy, nil, "realtime beside busy views p99 ms idle", true, "<= 1.50x"},
		{"busy and slow", Busy, map[string]func(*Row){busy: func(r *Row) { r.P99 = 16 }},
			"realtime beside busy views p99 ms idle", false, "<= 1.50x"},
		{"10 KB a stream", Busy, nil, "realtime many streams KB/stream bound", false, "<= 1.00x"},
		{"half a ms", Sibling, nil, "realtime beside a stopped worker longest ms all run", true,
			"<= 1.00"},
		{"one was not answered", Sibling, map[string]func(*Row){
			stopped: func(r *Row) { r.Timeouts = 1 }},
			"realtime beside a stopped worker longest ms all run", false, "<= 1.00"},
		{"it blocks", Sibling, map[string]func(*Row){stopped: func(r *Row) { r.Ack = 1.1 }},
			"realtime beside a stopped worker longest ms all run", false, "<= 1.00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			figures := w(tt.kind).Figures(rowsOf(w(tt.kind), same, tt.change))
			i := slices.IndexFunc(figures, func(f bench.Figure) bool {
				return f.Name+" "+f.Unit+" "+f.Rival == tt.figure
			})
			if i < 0 {
				t.Fatalf("Figures = %v, want %q among them", figures, tt.figure)
			}
			if f := figures[i]; f.Met() != tt.met || f.Target() != tt.target {
				t.Errorf("%s: met %v of %q, want %v of %q", f, f.Met(), f.Target(), tt.met, tt.target)
			}
		})
	}
}

// TestFiguresOfRivalsLeftOut are none.
func TestFiguresOfRivalsLeftOut(t *testing.T) {
	w := Workload{Kind: Fanout, Sides: []string{ours, oursGRIP, nchan}}
	figures := w.Figures(rowsOf(w, Row{IdleKB: 1}, nil))
	for _, f := range figures {
		if f.Rival != nchan {
			t.Errorf("Figures = %s, want those of nchan alone", f)
		}
	}
	if len(figures) != 3 {
		t.Errorf("Figures = %d, want memory before and after, and CPU", len(figures))
	}
}

func TestTable(t *testing.T) {
	w := Workload{Kind: Stalled, Sides: []string{ours, nchan, "gosse"}}
	of := Row{Got: 5, Wanted: 6, Timeouts: 3, Mixed: true, Again: 4}
	rows := rowsOf(w, of, map[string]func(*Row){
		nchan:   func(r *Row) { r.Why = "it is not there\nat all" },
		"gosse": func(r *Row) { r.Lost = 2 },
	})
	got := strings.Join(strings.Fields(w.Table(rows)), " ")
	for _, want := range []string{"m0serve 5/6 BROKEN 3 -",
		"nchan not measured: it is not there at all", "(2 deliveries lost)",
		"(4 streams turned away at first)"} {
		if !strings.Contains(got, want) {
			t.Errorf("Table = %q, want %q in it", got, want)
		}
	}
}

func TestParseAnswer(t *testing.T) {
	got, err := parseAnswer("publish 2 100 0", []byte(`{"last_ms":[1.5,2],"ack_ms":[1,1],"lost":3}`))
	if err != nil || !slices.Equal(got.LastMs, []float64{1.5, 2}) || got.Lost != 3 {
		t.Errorf("parseAnswer = %+v, %v, want two times and 3 lost", got, err)
	}
	for line, want := range map[string]string{
		`{"error":"the server ended stream 7","held":7}`: "publish 2: the server ended stream 7",
		`panic: no`: `the crowd said "panic: no"`,
	} {
		if _, err := parseAnswer("publish 2", []byte(line)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("parseAnswer(%s) = %v, want %q", line, err, want)
		}
	}
}

func TestParseTook(t *testing.T) {
	got, err := parseTook([]byte(`{"took_ms": [0.1, 0.3, 0.2], "refused": 2, "unanswered": 1}`))
	want := Row{P50: 0.2, P99: 0.3, Ack: 0.3, Refused: 2, Timeouts: 1}
	if err != nil || got != want {
		t.Errorf("parseTook = %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{`{"took_ms": []}`, "<h1>Server Error</h1>"} {
		if got, err := parseTook([]byte(bad)); err == nil {
			t.Errorf("parseTook(%s) = %+v, want an error", bad, got)
		}
	}
}

// TestAHubThatIsNotThere is named with the way to get it; nothing is installed.
func TestAHubThatIsNotThere(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	h := House{Dir: t.TempDir()}
	for side, want := range map[string]string{nchan: "libnginx-mod-nchan", pushpin: "pushpin"} {
		w := Workload{Kind: Fanout, Sides: []string{side}, Streams: 1, Times: 1}
		rows, err := Runner{House: h, Rounds: 2, Say: func(string) {}}.Run(t.Context(), w)
		if err != nil || len(rows) != 1 || !strings.Contains(rows[0].Why, "apt-get install") ||
			!strings.Contains(rows[0].Why, want) {
			t.Errorf("Run(%s) = %+v, %v, want the package %s", side, rows, err, want)
		}
	}
}

// TestWorkloads have their own sides, which no flag leaves out.
func TestWorkloads(t *testing.T) {
	for _, quick := range []bool{true, false} {
		for _, w := range slices.Concat(Workloads(quick), StreamsWorkloads(quick)) {
			for i, side := range w.Sides {
				if drop := w.CanDrop(side); drop == (i == 0 || w.isPair() || isOurs(side)) {
					t.Errorf("%s: CanDrop(%s) = %v, want %v", w.Kind, side, drop, !drop)
				}
			}
			if w.Times == 0 || w.Bytes == 0 || (w.Streams == 0) != (w.Kind == Sibling) {
				t.Errorf("Workloads(%v): %+v is not whole", quick, w)
			}
		}
	}
}

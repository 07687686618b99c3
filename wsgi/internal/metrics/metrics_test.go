// SPDX-License-Identifier: MIT

package metrics

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/loop"
	open "m0serve.dev/http/metrics"
	"m0serve.dev/http/metrics/metricstest"
	"m0serve.dev/http/sse"
)

// fill gives every number and text under v a value of its own, so that a test
// sees which one was shown.
func fill(v reflect.Value, next *int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return // no figure
		}
		for i := range v.NumField() {
			fill(v.Field(i), next)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), next)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), next)
		fill(v.Index(1), next)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, key := range []string{"a", "b\n"} {
			elem := reflect.New(v.Type().Elem()).Elem()
			fill(elem, next)
			v.SetMapIndex(reflect.ValueOf(key), elem)
		}
	case reflect.String:
		v.SetString("te\"x\\t\n")
	case reflect.Float64:
		*next++
		v.SetFloat(float64(*next) + 0.25)
	case reflect.Uint64:
		*next++
		v.SetUint(uint64(*next))
	case reflect.Int, reflect.Int64:
		*next++
		v.SetInt(int64(*next))
	default:
		panic("a kind of field that this test does not know: " + v.Kind().String())
	}
}

// full is a worker with everything.
func full(index int) (w Worker) {
	next := 1000 * index
	fill(reflect.ValueOf(&w).Elem(), &next)
	w.Index = index
	return w
}

func TestTextIsOpenMetrics(t *testing.T) {
	for name, workers := range map[string][]Worker{
		"none":   nil,
		"zero":   {{}},
		"one":    {full(0)},
		"some":   {full(0), {Index: 1}, full(7)},
		"pieces": {{Hub: &sse.HubStats{}}, {Index: 1, Process: &Process{}}},
	} {
		doc := string(Append(nil, open.OpenMetrics, workers))
		if _, err := metricstest.Parse(doc); err != nil {
			t.Errorf("%s: %v in\n%s", name, err, doc)
		}
	}
}

func TestEveryFigureIsShown(t *testing.T) {
	w := full(3)
	got, err := metricstest.Parse(string(Append(nil, open.OpenMetrics, []Worker{w})))
	if err != nil {
		t.Fatal(err)
	}
	drops := w.Hub.Drops["a"].Total() + w.Hub.Drops["b\n"].Total()
	late := w.Hub.Drops["a"].Late + w.Hub.Drops["b\n"].Late
	h := w.Durations[2]
	first := num(h.Buckets[0])
	for _, c := range []struct {
		name, labels string
		want         float64
	}{
		{"m0_worker_info", `version="te\"x\\t\n",python="te\"x\\t\n",` +
			`interface="te\"x\\t\n"`, 1},
		{"m0_worker_up", "", 1},
		{"m0_connections", "", num(w.Server.Conns)},
		{"m0_connections_held", "", num(w.Server.Held)},
		{"m0_requests_total", "", num(w.Server.Requests)},
		{"m0_requests_refused_total", "", num(w.Server.RefusedRequests)},
		{"m0_takeovers_total", "", num(w.Server.Takeovers)},
		{"m0_handovers_total", `cause="stream"`, num(w.Server.Detached)},
		{"m0_handovers_total", `cause="late_route"`, num(w.Server.Pooled)},
		{"m0_handlers_off_loop", "", num(w.Server.OffLoop)},
		{"m0_handlers_waiting", "", num(w.Server.Waiting)},
		{"m0_kept_bytes", "", num(w.Server.Kept)},
		{"m0_kept_full_total", "", num(w.Server.KeptFull)},
		{"m0_panics_total", "", num(w.Server.Panics)},
		{"m0_drops_total", `cause="max_connections"`, num(w.Server.DroppedConns)},
		{"m0_drops_total", `cause="descriptors"`, num(w.Server.DroppedDescriptors)},
		{"m0_drops_total", `cause="handler_queue"`, num(w.Server.DroppedBlocking)},
		{"m0_drops_total", `cause="requests_per_connection"`, num(w.Server.DroppedRequests)},
		{"m0_timeouts_total", `phase="read"`, num(w.Server.TimeoutsRead)},
		{"m0_timeouts_total", `phase="write"`, num(w.Server.TimeoutsWrite)},
		{"m0_streams", "", num(w.Hub.Streams)},
		{"m0_listeners", "", num(w.Hub.Attached)},
		{"m0_streams_opened_total", "", num(w.Hub.Opened)},
		{"m0_stream_frames_lost_total", `cause="queue_full"`, num(drops - late)},
		{"m0_stream_frames_lost_total", `cause="late"`, num(late)},
		{"m0_stream_frames_lost_total", `cause="bus"`, num(w.Hub.Lost)},
		{"m0_polls", "", num(w.Held.Polls)},
		{"m0_holds_invalid_total", "", num(w.Held.Invalid)},
		{"m0_items_total", "", num(w.Held.Items)},
		{"m0_items_waiting", "", num(w.Held.Waiting)},
		{"m0_items_irregular_total", `cause="damaged"`, num(w.Held.Damaged)},
		{"m0_items_irregular_total", `cause="duplicate"`, num(w.Held.Duplicate)},
		{"m0_items_irregular_total", `cause="late"`, num(w.Held.Late)},
		{"m0_items_irregular_total", `cause="unfit"`, num(w.Held.Unfit)},
		{"m0_streams_cut_total", `cause="slow"`, num(w.Held.Slow)},
		{"m0_streams_cut_total", `cause="gap"`, num(w.Held.Cut)},
		{"m0_next_links_asked_total", "", num(w.Held.Asked)},
		{"m0_gone_links_untold_total", "", num(w.Held.Untold)},
		{"m0_websockets", "", num(w.Sockets.Open)},
		{"m0_websockets_opened_total", "", num(w.Sockets.Opened)},
		{"m0_websockets_refused_total", "", num(w.Sockets.Refused)},
		{"m0_websockets_waiting", "", num(w.Sockets.Waiting)},
		{"m0_websocket_messages_total", `direction="in"`, num(w.Sockets.Received)},
		{"m0_websocket_messages_total", `direction="out"`, num(w.Sockets.Sent)},
		{"m0_websocket_requests_total", "", num(w.Sockets.Asked)},
		{"m0_websockets_failed_total", `cause="answer"`, num(w.Sockets.Invalid)},
		{"m0_websockets_failed_total", `cause="busy"`, num(w.Sockets.Busy)},
		{"m0_websockets_failed_total", `cause="slow"`, num(w.Sockets.Slow)},
		{"m0_websockets_failed_total", `cause="violation"`, num(w.Sockets.Violations)},
		{"m0_websockets_failed_total", `cause="silent"`, num(w.Sockets.Silent)},
		{"m0_journal_bytes", "", num(w.Hub.JournalBytes)},
		{"m0_bus_published_total", "", num(w.Hub.Bus.Published)},
		{"m0_bus_received_total", "", num(w.Hub.Bus.Received)},
		{"m0_bus_refused_total", `cause="too_large"`, num(w.Hub.Bus.TooLarge)},
		{"m0_bus_refused_total", `cause="damaged"`, num(w.Hub.Bus.Damaged)},
		{"m0_bus_dropped_total", `to="1"`, num(w.Hub.Bus.Channels[1].Dropped)},
		{"m0_bus_queue_bytes", `to="0"`, num(w.Hub.Bus.Channels[0].QueuedBytes)},
		{"m0_accesslog_lines_total", "", num(w.AccessLog.Lines)},
		{"m0_accesslog_lost_total", `cause="queue_full"`, num(w.AccessLog.Dropped)},
		{"m0_accesslog_lost_total", `cause="write"`, num(w.AccessLog.Failed)},
		{"m0_fields_dropped_total", `cause="reserved"`, num(w.Fields.Reserved)},
		{"m0_fields_dropped_total", `cause="underscore"`, num(w.Fields.Underscores)},
		{"process_cpu_seconds_total", "", w.Process.CPU},
		{"process_resident_memory_bytes", "", num(w.Process.Resident)},
		{"process_virtual_memory_bytes", "", num(w.Process.Virtual)},
		{"process_open_fds", "", num(w.Process.OpenFDs)},
		{"process_max_fds", "", num(w.Process.MaxFDs)},
		{"process_threads", "", num(w.Process.Threads)},
		{"process_start_time_seconds", "", w.Process.Started},
		{"m0_request_duration_seconds_bucket", `code="2xx",le="0.0005"`, first},
		{"m0_request_duration_seconds_bucket", `code="2xx",le="0.001"`, first + num(h.Buckets[1])},
		{"m0_request_duration_seconds_bucket", `code="2xx",le="+Inf"`, num(h.Count())},
		{"m0_request_duration_seconds_count", `code="2xx"`, num(h.Count())},
		{"m0_request_duration_seconds_sum", `code="2xx"`, h.Seconds},
	} {
		key := c.name + `{worker="3",` + c.labels + "}"
		key = strings.Replace(key, ",}", "}", 1)
		if have, found := got[key]; !found || have != c.want {
			t.Errorf("%s = %v, %v; want %v", key, have, found, c.want)
		}
	}
}

// num is a number of any kind as one of the text.
func num[N int | int64 | uint64](n N) float64 { return float64(n) }

// The older format names counters by their samples and knows no units.
func TestPlainText(t *testing.T) {
	doc := string(Append(nil, open.Plain, []Worker{full(0)}))
	for _, want := range []string{
		"# TYPE m0_requests_total counter\nm0_requests_total{", "# HELP m0_requests_total ",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("plain text has no %q", want)
		}
	}
	for _, wrong := range []string{"# UNIT", "# EOF", "# TYPE m0_requests counter"} {
		if strings.Contains(doc, wrong) {
			t.Errorf("plain text has %q", wrong)
		}
	}
}

// A worker that does not answer has no figures, and is shown.
func TestSilentWorker(t *testing.T) {
	for _, workers := range [][]Worker{nil, {full(0)}} {
		doc := string(Append(nil, open.OpenMetrics, workers, 1, 4))
		got, err := metricstest.Parse(doc)
		if err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		for _, silent := range []string{`worker="1"`, `worker="4"`} {
			if up, ok := got["m0_worker_up{"+silent+"}"]; !ok || up != 0 {
				t.Errorf("a silent worker is up: %v, %v; want 0", up, ok)
			}
			if n := strings.Count(doc, silent); n != 1 {
				t.Errorf("%s has %d figures, want 1", silent, n)
			}
		}
	}
}

func TestDurations(t *testing.T) {
	for i, want := range open.Seconds() {
		if got := bounds[i].Seconds(); got != want || len(open.Seconds()) != len(bounds) {
			t.Errorf("bound %d of %d is %v; want %v of %d", i, len(bounds), got, want,
				len(open.Seconds()))
		}
	}
	var d Durations
	x := &loop.Exchange{}
	for _, c := range []struct {
		status int
		took   time.Duration
	}{
		{200, 0}, {200, bounds[0]}, {204, bounds[0] + 1}, {404, time.Minute}, {500, -time.Second},
		{0, time.Second}, {999, time.Second}, {302, bounds[len(bounds)-1]},
	} {
		d.Answered(loop.Answer{Exchange: x, Status: c.status, Took: c.took})
	}
	d.Answered(loop.Answer{Status: 400})
	got := d.Snapshot()
	var want [classes]Histogram
	last := len(bounds)
	want[2].Buckets[0], want[2].Buckets[1], want[2].Seconds = 2, 1, (2*bounds[0] + 1).Seconds()
	want[4].Buckets[last], want[4].Seconds = 1, 60
	want[5].Buckets[0] = 1
	want[0].Buckets[10], want[0].Seconds = 2, 2
	want[3].Buckets[last-1], want[3].Seconds = 1, bounds[last-1].Seconds()
	if got != want {
		t.Errorf("Snapshot = %+v; want %+v", got, want)
	}
	a := loop.Answer{Exchange: x, Status: 200}
	if n := testing.AllocsPerRun(100, func() { d.Answered(a) }); n != 0 {
		t.Errorf("Answered allocates %v times", n)
	}
}

func TestMerge(t *testing.T) {
	worker := func(index int, started float64, requests uint64) Worker {
		return Worker{Index: index, Server: loop.Stats{Requests: requests},
			Process: &Process{Started: started}}
	}
	got := Merge([]Worker{worker(2, 5, 20), worker(0, 5, 1)}, nil,
		[]Worker{worker(1, 5, 10), worker(2, 9, 21), worker(0, 5, 2)}, []Worker{worker(1, 4, 11)})
	var all []uint64
	for i, w := range got {
		if w.Index != i {
			t.Errorf("Merge: worker %d at %d", w.Index, i)
		}
		all = append(all, w.Server.Requests)
	}
	if want := []uint64{2, 10, 21}; !reflect.DeepEqual(all, want) {
		t.Errorf("Merge keeps %v; want %v", all, want)
	}
}

// What a sibling sends arrives as it was.
func TestWorkerSurvivesJSON(t *testing.T) {
	for _, w := range []Worker{{}, full(2)} {
		text, err := json.Marshal(w)
		var got Worker
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil || !reflect.DeepEqual(got, w) {
			t.Errorf("through JSON %+v, %v; want %+v", got, err, w)
		}
	}
}

func TestHandler(t *testing.T) {
	h := &Handler{Collect: func(context.Context) ([]Worker, []int) {
		return []Worker{full(0)}, []int{1}
	}}
	for name, handler := range map[string]http.Handler{
		"net/http": h, "native": loop.OverHTTP(h, 0),
	} {
		s := httptest.NewServer(handler)
		for accept, kind := range map[string]string{
			"application/openmetrics-text": open.OpenMetrics, "": open.Plain,
		} {
			req, _ := http.NewRequest("GET", s.URL+"/metrics", nil)
			req.Header.Set("Accept", accept)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			res.Body.Close()
			want := string(Append(nil, kind, []Worker{full(0)}, 1))
			if res.Header.Get("Content-Type") != kind || string(body) != want ||
				res.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s, Accept %q: %v, %d bytes; want %s, %d bytes", name, accept, res.Header,
					len(body), kind, len(want))
			}
		}
		res, err := http.Post(s.URL, "text/plain", nil)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 405 || res.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: POST = %d %v; want 405", name, res.StatusCode, res.Header)
		}
		s.Close()
	}
}

func TestParseStat(t *testing.T) {
	const tail = " S 1 2 3 4 5 6 7 8 9 10 250 150 13 14 15 16 6 18 12345 4096000 100 " +
		"18446744073709551615"
	got, err := parseStat("42 (a) b (c)"+tail, 1_700_000_000, 4096)
	want := &Process{CPU: 4, Threads: 6, Started: 1_700_000_123.45, Virtual: 4096000, Resident: 409600}
	if err != nil || *got != *want {
		t.Errorf("parseStat = %+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{
		"", "42 (a)", "42 (a) S 1 2", strings.Replace("1 (a)"+tail, "250", "x", 1),
	} {
		if p, err := parseStat(bad, 0, 1); err != errStat {
			t.Errorf("parseStat(%q) = %+v, %v; want errStat", bad, p, err)
		}
	}
	if got := maxFDs("Limit\nMax open files       1024         524288     files\n"); got != 1024 {
		t.Errorf("maxFDs = %d; want 1024", got)
	}
	if got := maxFDs("Max open files   unlimited  unlimited files\n"); got != 0 {
		t.Errorf("maxFDs of no limit = %d; want 0", got)
	}
	if got := bootTime("cpu 1\nbtime 1700000000\nprocesses 5\n"); got != 1_700_000_000 {
		t.Errorf("bootTime = %d", got)
	}
}

func TestReadProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skipf("no /proc here: %v", err)
	}
	p, err := ReadProcess(0)
	if err != nil {
		t.Fatal(err)
	}
	now := float64(time.Now().Unix())
	if p.Started > now+2 || p.Started < now-3600*24 || p.Resident < 1<<20 || p.Virtual < p.Resident ||
		p.OpenFDs < 3 || p.MaxFDs < int64(p.OpenFDs) || p.Threads < 1 || p.CPU < 0 {
		t.Errorf("ReadProcess(0) = %+v at %v", p, now)
	}
	if other, err := ReadProcess(os.Getpid()); err != nil || other.Started != p.Started {
		t.Errorf("ReadProcess(own pid) = %+v, %v; want the start of %+v", other, err, p)
	}
	if _, err := ReadProcess(1 << 30); err == nil || !strings.HasPrefix(err.Error(), "metrics: ") {
		t.Errorf("ReadProcess of nobody: %v", err)
	}
}

func BenchmarkAnswered(b *testing.B) {
	var d Durations
	a := loop.Answer{Exchange: &loop.Exchange{}, Status: 200, Took: 30 * time.Microsecond}
	b.ReportAllocs()
	for b.Loop() {
		d.Answered(a)
	}
}

func BenchmarkAppend(b *testing.B) {
	workers := []Worker{full(0), full(1), full(2), full(3)}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = Append(dst[:0], open.OpenMetrics, workers)
	}
	b.SetBytes(int64(len(dst)))
}

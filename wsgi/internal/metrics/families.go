// SPDX-License-Identifier: MIT

package metrics

import (
	"strconv"

	"m0serve.dev/http/loop"
	open "m0serve.dev/http/metrics"
	"m0serve.dev/http/sse"
)

// The kinds of families there are here.
const (
	counter   = open.KindCounter
	gauge     = open.KindGauge
	histogram = open.KindHistogram
)

// A family is samples of one name. unit is the end of name, or "".
type family struct {
	name, unit string
	kind       open.Kind
	help       string
	each       show
}

// readings are all families there are, in the order in which they are shown.
func readings() (all []open.Reading[Worker]) {
	for _, f := range own {
		all = append(all, open.Reading[Worker]{
			Family: open.Family{Name: f.name, Unit: f.unit, Help: f.help, Kind: f.kind},
			Each:   f.each,
		})
	}
	engine := partly(open.EngineReadings(), func(w *Worker) *loop.Stats { return &w.Server })
	hub := partly(open.HubReadings(), func(w *Worker) *sse.HubStats { return w.Hub })
	return append(append(all, engine...), hub...)
}

// partly makes families of a part, for the workers that have it.
func partly[S any](
	readings []open.Reading[S], part func(w *Worker) *S,
) (all []open.Reading[Worker]) {
	for _, r := range readings {
		each := func(w *Worker, t *open.Writer) {
			if p := part(w); p != nil {
				r.Each(p, t)
			}
		}
		all = append(all, open.Reading[Worker]{Family: r.Family, Each: each})
	}
	return all
}

// up is the one family that a worker without an answer is in.
var up = open.Family{Name: "m0_worker_up", Kind: gauge,
	Help: "1 for a worker that said its figures, 0 for one that did not in time."}

// Append appends the figures of the workers in the format of contentType, and which
// workers were silent, by their indexes.
func Append(dst []byte, contentType string, workers []Worker, silent ...int) []byte {
	t := open.NewWriter(dst, contentType)
	t.Begin(up)
	for i := range workers {
		t.Base("worker", strconv.Itoa(workers[i].Index))
		t.Sample(1)
	}
	for _, index := range silent {
		t.Base("worker", strconv.Itoa(index))
		t.Sample(0)
	}
	for _, r := range readings() {
		t.Begin(r.Family)
		for i := range workers {
			t.Base("worker", strconv.Itoa(workers[i].Index))
			r.Each(&workers[i], t)
		}
	}
	return t.Close()
}

// own are the families that the engine and the hub do not have. Read only.
var own = [...]family{
	{"m0_worker_info", "", gauge, "What serves, as labels.", func(w *Worker, t *open.Writer) {
		t.Sample(1, "version", w.Version, "python", w.Python, "interface", w.Interface)
	}},
	{"m0_request_duration_seconds", "seconds", histogram,
		"Time in the application, by class of status; 0xx was cut without an answer.",
		func(w *Worker, t *open.Writer) {
			for class := range w.Durations {
				if h := &w.Durations[class]; h.Count() > 0 {
					t.Histogram(open.Seconds(), h.Buckets[:], h.Seconds, "code", strconv.Itoa(class)+"xx")
				}
			}
		}},
	{"m0_subscriptions", "", gauge, "Subscriptions of an ASGI application.",
		ofHub(func(w *Worker, t *open.Writer) { open.Whole(t, w.Subscriptions) })},
	{"m0_stream_frames_lost", "", counter, "Frames that streams and subscriptions did not get.",
		ofHub(lostFrames)},
	{"m0_polls", "", gauge, "Long polls that are held.",
		ofHeld(func(w *Worker, t *open.Writer) { open.Whole(t, w.Held.Polls) })},
	{"m0_holds_invalid", "", counter, "Answers that were to be held and could not be.",
		ofHeld(func(w *Worker, t *open.Writer) { open.Whole(t, w.Held.Invalid) })},
	{"m0_items", "", counter, "Items of GRIP from the bus.",
		ofHeld(func(w *Worker, t *open.Writer) { open.Whole(t, w.Held.Items) })},
	{"m0_items_waiting", "", gauge, "Items that wait for the one before them.",
		ofHeld(func(w *Worker, t *open.Writer) { open.Whole(t, w.Held.Waiting) })},
	{"m0_items_irregular", "", counter, "Items that did not come as they should.",
		ofHeld(func(w *Worker, t *open.Writer) {
			open.Whole(t, w.Held.Damaged, "cause", "damaged")
			open.Whole(t, w.Held.Duplicate, "cause", "duplicate")
			open.Whole(t, w.Held.Late, "cause", "late")
			open.Whole(t, w.Held.Unfit, "cause", "unfit")
		})},
	{"m0_streams_cut", "", counter, "Streams of a WSGI application that were cut.",
		ofHeld(func(w *Worker, t *open.Writer) {
			open.Whole(t, w.Held.Slow, "cause", "slow")
			open.Whole(t, w.Held.Cut, "cause", "gap")
		})},
	{"m0_next_links_asked", "", counter, "Requests to the application for what streams lack.",
		ofHeld(func(w *Worker, t *open.Writer) { open.Whole(t, w.Held.Asked) })},
	{"m0_gone_links_untold", "", counter, "Clients that left and whose gone link was not told.",
		ofHeld(func(w *Worker, t *open.Writer) { open.Whole(t, w.Held.Untold) })},
	{"m0_websockets", "", gauge, "WebSockets of a WSGI application.",
		ofSockets(func(w *Worker, t *open.Writer) { open.Whole(t, w.Sockets.Open) })},
	{"m0_websockets_opened", "", counter, "WebSockets that were accepted.",
		ofSockets(func(w *Worker, t *open.Writer) { open.Whole(t, w.Sockets.Opened) })},
	{"m0_websockets_refused", "", counter, "Openings that were none, or of foreign pages.",
		ofSockets(func(w *Worker, t *open.Writer) { open.Whole(t, w.Sockets.Refused) })},
	{"m0_websockets_waiting", "", gauge, "WebSockets that wait for their turn to ask.",
		ofSockets(func(w *Worker, t *open.Writer) { open.Whole(t, w.Sockets.Waiting) })},
	{"m0_websocket_messages", "", counter, "Messages of WebSockets.",
		ofSockets(func(w *Worker, t *open.Writer) {
			open.Whole(t, w.Sockets.Received, "direction", "in")
			open.Whole(t, w.Sockets.Sent, "direction", "out")
		})},
	{"m0_websocket_requests", "", counter, "Requests to the application that messages became.",
		ofSockets(func(w *Worker, t *open.Writer) { open.Whole(t, w.Sockets.Asked) })},
	{"m0_websockets_failed", "", counter, "WebSockets that did not end by a close of either side.",
		ofSockets(func(w *Worker, t *open.Writer) {
			open.Whole(t, w.Sockets.Invalid, "cause", "answer")
			open.Whole(t, w.Sockets.Busy, "cause", "busy")
			open.Whole(t, w.Sockets.Slow, "cause", "slow")
			open.Whole(t, w.Sockets.Violations, "cause", "violation")
			open.Whole(t, w.Sockets.Silent, "cause", "silent")
		})},
	{"m0_publishers", "", gauge, "Connections to the publish socket.",
		ofPublish(func(w *Worker, t *open.Writer) { open.Whole(t, w.Publish.Conns) })},
	{"m0_published", "", counter, "Events published through this worker.",
		ofPublish(func(w *Worker, t *open.Writer) { open.Whole(t, w.Publish.Published) })},
	{"m0_publish_refused", "", counter, "Events, and connections of publishers, that were refused.",
		ofPublish(func(w *Worker, t *open.Writer) {
			open.Whole(t, w.Publish.Refused, "cause", "event")
			open.Whole(t, w.Publish.Foreign, "cause", "user")
			open.Whole(t, w.Publish.Garbage, "cause", "garbage")
			open.Whole(t, w.Publish.Stalled, "cause", "stalled")
			open.Whole(t, w.Publish.TurnedAway, "cause", "busy")
		})},
	{"m0_http_published", "", counter, "What came through the HTTP door and was published.",
		ofPublishHTTP(func(w *Worker, t *open.Writer) {
			open.Whole(t, w.PublishHTTP.Items, "kind", "item")
			open.Whole(t, w.PublishHTTP.Events, "kind", "event")
		})},
	{"m0_http_publish_refused", "", counter, "Requests of the HTTP door that were refused.",
		ofPublishHTTP(func(w *Worker, t *open.Writer) {
			open.Whole(t, w.PublishHTTP.Refused, "cause", "format")
			open.Whole(t, w.PublishHTTP.Denied, "cause", "key")
			open.Whole(t, w.PublishHTTP.Nobody, "cause", "queue_full")
		})},
	{"m0_http_publish_dropped", "", counter,
		"What came through the HTTP door and was published, but not to every worker.",
		ofPublishHTTP(func(w *Worker, t *open.Writer) { open.Whole(t, w.PublishHTTP.Dropped) })},
	{"m0_postgres_listening", "", gauge, "1 while --pg-listen has its connection.",
		ofPostgres(func(w *Worker, t *open.Writer) { open.Whole(t, truth(w.Postgres.Connected)) })},
	{"m0_postgres_reconnects", "", counter, "Connections of --pg-listen after the first.",
		ofPostgres(func(w *Worker, t *open.Writer) { open.Whole(t, w.Postgres.Reconnects) })},
	{"m0_postgres_published", "", counter, "Notifications of PostgreSQL that were published.",
		ofPostgres(func(w *Worker, t *open.Writer) { open.Whole(t, w.Postgres.Published) })},
	{"m0_postgres_refused", "", counter, "Notifications of PostgreSQL that were refused.",
		ofPostgres(func(w *Worker, t *open.Writer) {
			r := w.Postgres.Refused
			open.Whole(t, r.Malformed, "cause", "malformed")
			open.Whole(t, r.NotText, "cause", "not_text")
			open.Whole(t, r.Reserved, "cause", "reserved")
			open.Whole(t, r.BadName, "cause", "bad_name")
			open.Whole(t, r.Failed, "cause", "failed")
		})},
	{"m0_accesslog_lines", "", counter, "Lines of the access log.",
		ofAccessLog(func(w *Worker, t *open.Writer) { open.Whole(t, w.AccessLog.Lines) })},
	{"m0_accesslog_lost", "", counter, "Lines of the access log that were lost.",
		ofAccessLog(func(w *Worker, t *open.Writer) {
			open.Whole(t, w.AccessLog.Dropped, "cause", "queue_full")
			open.Whole(t, w.AccessLog.Failed, "cause", "write")
		})},
	{"m0_fields_dropped", "", counter, "Header fields of requests that the application did not see.",
		droppedFields},
	{"process_cpu_seconds", "seconds", counter, "CPU time of the process.",
		ofProcess(func(w *Worker, t *open.Writer) { t.Sample(w.Process.CPU) })},
	{"process_resident_memory_bytes", "bytes", gauge, "Resident memory of the process.",
		ofProcess(func(w *Worker, t *open.Writer) { open.Whole(t, w.Process.Resident) })},
	{"process_virtual_memory_bytes", "bytes", gauge, "Virtual memory of the process.",
		ofProcess(func(w *Worker, t *open.Writer) { open.Whole(t, w.Process.Virtual) })},
	{"process_open_fds", "", gauge, "Descriptors that are open.",
		ofProcess(func(w *Worker, t *open.Writer) { open.Whole(t, w.Process.OpenFDs) })},
	{"process_max_fds", "", gauge, "Descriptors that may be open.",
		ofProcess(func(w *Worker, t *open.Writer) { open.Whole(t, w.Process.MaxFDs) })},
	{"process_threads", "", gauge, "Threads of the process.",
		ofProcess(func(w *Worker, t *open.Writer) { open.Whole(t, w.Process.Threads) })},
	{"process_start_time_seconds", "seconds", gauge, "Start of the process, seconds since 1970.",
		ofProcess(func(w *Worker, t *open.Writer) { t.Sample(w.Process.Started) })},
}

// A show writes the samples of one worker.
type show = func(w *Worker, t *open.Writer)

// where is each for the workers that have what it shows.
func where(has func(w *Worker) bool, each show) show {
	return func(w *Worker, t *open.Writer) {
		if has(w) {
			each(w, t)
		}
	}
}

func ofHub(each show) show {
	return where(func(w *Worker) bool { return w.Hub != nil }, each)
}

func ofHeld(each show) show {
	return where(func(w *Worker) bool { return w.Held != nil }, each)
}

func ofSockets(each show) show {
	return where(func(w *Worker) bool { return w.Sockets != nil }, each)
}

func ofPublish(each show) show {
	return where(func(w *Worker) bool { return w.Publish != nil }, each)
}

func ofPublishHTTP(each show) show {
	return where(func(w *Worker) bool { return w.PublishHTTP != nil }, each)
}

func ofPostgres(each show) show {
	return where(func(w *Worker) bool { return w.Postgres != nil }, each)
}

// truth is 1 for true.
func truth(is bool) int {
	if is {
		return 1
	}
	return 0
}

func ofAccessLog(each show) show {
	return where(func(w *Worker) bool { return w.AccessLog != nil }, each)
}

func ofProcess(each show) show {
	return where(func(w *Worker) bool { return w.Process != nil }, each)
}

// lostFrames adds all channels up: their names are the application's, and there
// may be as many as it has users.
func lostFrames(w *Worker, t *open.Writer) {
	var full, late uint64
	for _, d := range w.Hub.Drops {
		full += d.Total() - d.Late
		late += d.Late
	}
	open.Whole(t, full, "cause", "queue_full")
	open.Whole(t, late, "cause", "late")
	open.Whole(t, w.Hub.Lost, "cause", "bus")
}

func droppedFields(w *Worker, t *open.Writer) {
	if f := w.Fields; f != nil {
		open.Whole(t, f.Untrusted, "cause", "untrusted_proxy")
		open.Whole(t, f.Underscores, "cause", "underscore")
		open.Whole(t, f.Reserved, "cause", "reserved")
		open.Whole(t, f.Repeated, "cause", "repeated")
		open.Whole(t, f.Malformed, "cause", "malformed")
	}
}

// SPDX-License-Identifier: MIT

package contest

// Kind is how an application is called.
type Kind string

// Kinds of applications.
const (
	WSGI Kind = "wsgi"
	ASGI Kind = "asgi"
)

// Workload is one application under one kind of load.
type Workload struct {
	Name string
	What string
	Kind Kind
	App  string // module:callable
	Path string // "/" when empty

	Conns     int      // connections, each with one request at a time
	Slow      int      // more connections, on /slow
	Headers   []string // of each request
	Post      int      // bytes of a body that is sent
	Answer    int      // bytes of a right answer
	Unsized   bool     // the application does not say how long its answer is
	WebSocket bool     // messages that are sent back
	Idle      bool     // no load: the memory is measured
	Threads   int      // of each server that has threads; 0: its default here
	Free      bool     // servers and load run on any core

	Sides   []string // the first is ours
	Targets []Target
}

// Target is the least that ours may be, as a multiple of a rival's rate.
type Target struct {
	Rival string
	Ratio float64
	Over  float64 // of an idle workload: the most MB that ours may be above it
}

const (
	conns    = 32
	helloLen = 13 // Hello, world!
	pieceLen = 100
	pageLen  = 10134
	postLen  = 1 << 20
	itemLen  = 51
)

// browser is what a browser sends beside the host.
var browser = []string{
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
	"Accept-Language: en-US,en;q=0.5", "Accept-Encoding: gzip, deflate, br, zstd",
	"Referer: http://127.0.0.1/somewhere/else?page=2", "DNT: 1", "Sec-GPC: 1",
	"Cookie: sessionid=0123456789abcdef0123456789abcdef; csrftoken=abcdefghijklmnop",
	"Upgrade-Insecure-Requests: 1", "Sec-Fetch-Dest: document", "Sec-Fetch-Mode: navigate",
	"Sec-Fetch-Site: same-origin", "Sec-Fetch-User: ?1", "Priority: u=0, i",
}

var (
	wsgiSides = []string{ours, "bjoern", "granian", "gunicorn-gthread", "gunicorn-sync", "uwsgi",
		"waitress", ceiling}
	asgiSides = []string{ours, "granian", "uvicorn", "hypercorn", ceiling}
)

// WSGIWorkloads returns what `bench wsgi` measures.
func WSGIWorkloads() []Workload {
	w := []Workload{
		{Name: "hello", What: "a short answer without a framework", App: "bare:hello",
			Answer: helloLen, Targets: []Target{{Rival: "gunicorn-gthread", Ratio: 10},
				{Rival: "bjoern", Ratio: 1.2}, {Rival: "granian", Ratio: 1}}},
		{Name: "headers", What: "the same with the headers of a browser", App: "bare:hello",
			Headers: browser, Answer: helloLen},
		{Name: "flask", What: "a short answer of Flask", App: "flask_app:app", Answer: helloLen,
			Targets: []Target{{Rival: "gunicorn-gthread", Ratio: 4}, {Rival: "bjoern", Ratio: 1.15}}},
		{Name: "django", What: "a short answer of Django", App: "django_app:app",
			Answer: helloLen, Targets: []Target{{Rival: "gunicorn-gthread", Ratio: 2.8},
				{Rival: "bjoern", Ratio: 1}}},
		{Name: "page", What: "10 KB by Django's templates", App: "django_app:app",
			Path: "/page", Answer: pageLen, Targets: []Target{{Rival: ceiling, Ratio: 0.97}}},
		{Name: "post", What: "a body of 1 MB sent back", App: "bare:echo", Post: postLen,
			Answer: postLen, Targets: []Target{{Rival: "bjoern", Ratio: 2}}},
		{Name: "chunks", What: "a generator of 100 pieces of 100 bytes", App: "bare:chunks",
			Unsized: true, Answer: 100 * pieceLen,
			Targets: []Target{{Rival: "gunicorn-gthread", Ratio: 20}}},
		{Name: "close", What: "a connection for each request", App: "bare:hello",
			Headers: []string{"Connection: close"}, Answer: helloLen},
	}
	for i := range w {
		w[i].Kind, w[i].Conns, w[i].Sides = WSGI, conns, wsgiSides
	}
	return append(w,
		Workload{Name: "workers", What: "the page by two workers and by one, on all cores",
			Kind: WSGI, App: "django_app:app", Path: "/page", Conns: conns, Answer: pageLen,
			Free: true, Sides: []string{"m0serve-2", ours},
			Targets: []Target{{Rival: ours, Ratio: 1.8}}},
		Workload{Name: "idle", What: "memory of a worker that has answered once", Kind: WSGI,
			App: "bare:hello", Answer: helloLen, Idle: true,
			Sides:   []string{ours, "bjoern", "granian", "gunicorn-gthread", "uwsgi", "waitress", bare},
			Targets: []Target{{Rival: bare, Over: 12}}},
	)
}

// ASGIWorkloads returns what `bench asgi` measures.
func ASGIWorkloads() []Workload {
	w := []Workload{
		{Name: "hello", What: "a short answer without a framework", App: "asgi_bare:app",
			Answer: helloLen, Sides: asgiSides,
			Targets: []Target{{Rival: "uvicorn", Ratio: 1.7}, {Rival: "granian", Ratio: 1}}},
		{Name: "fastapi", What: "a checked parameter and JSON", App: "fastapi_app:app",
			Path: "/items/7", Answer: itemLen, Sides: asgiSides,
			Targets: []Target{{Rival: "uvicorn", Ratio: 1.1}}},
		{Name: "starlette", What: "a short answer of Starlette", App: "starlette_app:app",
			Answer: helloLen, Sides: asgiSides},
		{Name: "websocket", What: "messages of 64 bytes sent back", App: "asgi_bare:app",
			Answer: helloLen, WebSocket: true,
			Sides:   []string{ours, "granian", "uvicorn", "hypercorn"},
			Targets: []Target{{Rival: "uvicorn", Ratio: 1.5}}},
	}
	for i := range w {
		w[i].Kind, w[i].Conns = ASGI, conns
	}
	return w
}

// MixedWorkloads returns what `bench mixed` measures: views that wait for 5 ms
// beside quick ones, with as many threads on each side.
func MixedWorkloads() []Workload {
	threaded := []string{ours, "granian", "gunicorn-gthread", "uwsgi", "waitress"}
	return []Workload{
		{Name: "mixed", What: "3 connections on a view that waits 5 ms, 8 on a quick one",
			Kind: WSGI, App: "slow:app", Conns: 8, Slow: 3, Threads: 4, Answer: helloLen,
			Sides: append([]string{ours, "m0serve-alone"}, threaded[1:]...),
			Targets: []Target{{Rival: "gunicorn-gthread", Ratio: 10},
				{Rival: "m0serve-alone", Ratio: 0.6}}},
		{Name: "slow", What: "16 connections on a view that waits 5 ms", Kind: WSGI,
			App: "slow:app", Path: "/slow", Conns: 16, Threads: 8, Answer: helloLen,
			Sides: threaded, Targets: []Target{{Rival: "gunicorn-gthread", Ratio: 1}}},
	}
}

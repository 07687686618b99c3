// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/prove"
)

// soakSamples is how often a soak looks at the server.
const soakSamples = 40

// soakRequests are what the soak asks for, in turns; $N is a number that grows.
var soakRequests = []string{
	"GET /ok HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET /ok?n=$N HTTP/1.1\r\nHost: a\r\nX-Name-$N: 1\r\n\r\n",
	"GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n",
	"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n" + strings.Repeat("b", 2000),
	"GET /wrong HTTP/1.1\r\nHost: a\r\n\r\n",
}

// soakEnviron keeps the allocators of Go and of C from hoarding, which would look
// like a leak.
var soakEnviron = []string{"GOGC=20", "GOMEMLIMIT=16MiB", "MALLOC_MMAP_THRESHOLD_=65536",
	"MALLOC_ARENA_MAX=1"}

// soakRude are requests that break their connection, or that nobody waits for.
var soakRude = []string{
	"GET /fails HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET /late HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET /file HTTP/1.1\r\nHost: a\r\n\r\n",
	"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf",
	"GET /long HTTP/1.1\r\nHost: a\r\n\r\n",
	"NONSENSE $N\r\n\r\n",
}

// proveSoak asks one server of a WSGI application for a long time: its memory must
// stay level and its descriptors the same.
func (e *env) proveSoak(s *console.Step, o proveOptions) (r prove.Result, err error) {
	samples, why, err := e.soak(s, o.requests, nil, soakEnviron)
	if why != "" {
		return prove.Result{Skipped: why}, err
	}
	said, grows := prove.Growth(samples)
	switch {
	case err == nil:
		r.Ran, err = said, grows
	case len(samples) > 0: // it ended before its time: what was seen until then
		last := samples[len(samples)-1].Requests
		r.Ran = cmp.Or(said, fmt.Sprintf("%d requests", last)) + fmt.Sprintf(", of %d", o.requests)
	}
	for i := 0; i < len(samples); i += soakSamples / 4 {
		sample := samples[i]
		r.Found = append(r.Found, fmt.Sprintf("after %d: %.1f MB, %d descriptors, %.0f objects",
			sample.Requests, sample.Bytes/1e6, sample.Files, sample.Objects))
	}
	s.Printf("%s", r.Ran)
	return r, err
}

// soakObjects asks the application how many blocks its interpreter has allocated, behind
// a collection.
func soakObjects(addr string) (n float64, err error) {
	resp, err := http.Get("http://" + addr + "/memory")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if _, err := fmt.Fscan(resp.Body, &n); err != nil {
		return 0, fmt.Errorf("GET /memory: %w", err)
	}
	return n, nil
}

// soak builds m0serve with flags, starts it with env and asks. why is why that cannot
// be done here. A process that ended in between is an error, also where another one
// took its place.
func (e *env) soak(s *console.Step, requests int, flags, env []string) (
	samples []prove.Sample, why string, err error) {
	python, err := proc.Run(e.ctx, proc.Cmd{ // what python3 is in the end: no script of pyenv's
		Args: []string{"python3", "-c", "import sys; print(sys.executable)"}})
	if python = strings.TrimSpace(python); err != nil || python == "" {
		return nil, "there is no python3", nil
	}
	dir, remove, err := proveDir()
	if err != nil {
		return nil, "", err
	}
	defer remove()
	command := filepath.Join(dir, "m0serve")
	if err := e.buildM0serve(s, command, flags...); err != nil {
		return nil, "", err
	}
	server, err := bench.StartProgram(e.ctx, bench.Program{
		Args: []string{command, "--python", python, "--bind", "127.0.0.1:0", "--workers", "1",
			"--threads", "2", "wild:app"},
		Dir: filepath.Join(e.top, "apps", "wsgi_bare"), Env: env, Free: true})
	if err != nil {
		return nil, "", err
	}
	defer server.Stop()
	family := server.Family()
	soak := prove.Soak{Addr: server.Addr, Requests: soakRequests, Rude: soakRude, Count: requests,
		Samples: soakSamples, Say: s.Doing, Look: func() (prove.Sample, error) {
			objects, err := soakObjects(server.Addr)
			all, _ := server.Memory()
			return prove.Sample{Bytes: all.RSS * (1 << 20), Files: server.Files(), Objects: objects}, err
		}}
	samples, err = soak.Run(e.ctx)
	if now := server.Family(); err == nil && !slices.Equal(family, now) {
		err = fmt.Errorf("processes %v are %v now", family, now)
	}
	if err != nil {
		return samples, "", fmt.Errorf("%w%s", err, server.Said())
	}
	return samples, "", nil
}

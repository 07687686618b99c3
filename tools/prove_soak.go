// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
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

// proveSoak asks one server of a WSGI application for a long time: its memory must
// stay level and its descriptors the same.
func (e *env) proveSoak(s *console.Step, o proveOptions) (r prove.Result, err error) {
	python := cmp.Or(os.Getenv("M0_TEST_PYTHON"), "python3")
	if python, err = exec.LookPath(python); err != nil {
		return prove.Result{Skipped: "there is no python3"}, nil
	}
	dir, remove, err := proveDir()
	if err != nil {
		return r, err
	}
	defer remove()
	command := filepath.Join(dir, "m0serve")
	if err := e.buildM0serve(s, command); err != nil {
		return r, err
	}
	server, err := bench.StartProgram(e.ctx, bench.Program{
		Args: []string{command, "--python", python, "--bind", "127.0.0.1:0", "--workers", "1",
			"--threads", "2", "wild:app"},
		Dir: filepath.Join(e.top, "apps", "wsgi_bare"), Env: soakEnviron, Free: true})
	if err != nil {
		return r, err
	}
	defer server.Stop()
	soak := prove.Soak{Addr: server.Addr, Requests: soakRequests, Count: o.requests,
		Samples: soakSamples, Look: func() prove.Sample {
			all, _ := server.Memory()
			return prove.Sample{Bytes: all.RSS * (1 << 20), Files: server.Files()}
		}, Say: s.Doing}
	samples, err := soak.Run(e.ctx)
	if err != nil {
		return r, fmt.Errorf("%w%s", err, server.Said())
	}
	r.Ran, err = prove.Growth(samples)
	for i := 0; i < len(samples); i += soakSamples / 4 {
		sample := samples[i]
		r.Found = append(r.Found, fmt.Sprintf("after %d: %.1f MB, %d descriptors", sample.Requests,
			sample.Bytes/1e6, sample.Files))
	}
	s.Printf("%s", r.Ran)
	return r, err
}

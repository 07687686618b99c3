// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"m0serve.dev/host"
	"m0serve.dev/http/server"
)

// Files in the working directory by which a smoke holds handlers.
const (
	begunFile   = "begun"   // gets a line of each handler that begins to wait
	releaseFile = "release" // is what they wait for
)

// wait is a handler that blocks, for 5 ms at least, until the file "release" is
// there.
func wait(w http.ResponseWriter, r *http.Request) {
	f, err := os.OpenFile(begunFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, r.URL.RawQuery)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = f.Close() // one line was written
	for {
		time.Sleep(5 * time.Millisecond)
		if _, err := os.Stat(releaseFile); err == nil || r.Context().Err() != nil {
			return
		}
	}
}

// configure reads M0_HOSTCHECK_QUEUE, a knob of the smoke: how many requests may
// wait for a handler that blocks.
func configure(_ *host.Context, c *server.Config) {
	if n, err := strconv.Atoi(os.Getenv("M0_HOSTCHECK_QUEUE")); err == nil {
		c.BlockingQueue = n
	}
}

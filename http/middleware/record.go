// SPDX-License-Identifier: MIT

package middleware

import (
	"bufio"
	"net"
	"net/http"
)

// A recorder notes what passes through a ResponseWriter. It belongs to the
// goroutine of its handler.
type recorder struct {
	http.ResponseWriter
	status int // first final status; 0 until one is written
	bytes  int64
}

// Unwrap lets http.ResponseController and held responses through.
func (rec *recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

func (rec *recorder) WriteHeader(status int) {
	if rec.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

func (rec *recorder) Write(b []byte) (int, error) {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	n, err := rec.ResponseWriter.Write(b)
	rec.bytes += int64(n)
	return n, err
}

// Flush is here for handlers that ask for an http.Flusher by assertion.
func (rec *recorder) Flush() {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	_ = http.NewResponseController(rec.ResponseWriter).Flush()
}

// Hijack is here for handlers that ask for an http.Hijacker by assertion.
func (rec *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if rec.status == 0 {
		rec.status = http.StatusSwitchingProtocols
	}
	return http.NewResponseController(rec.ResponseWriter).Hijack()
}

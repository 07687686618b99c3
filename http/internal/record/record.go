// SPDX-License-Identifier: MIT

// Package record notes what passes through an http.ResponseWriter, for middleware
// that reports on answers: the access log, the metrics.
package record

import (
	"bufio"
	"net"
	"net/http"
)

// A Writer notes what passes through the ResponseWriter. It belongs to the
// goroutine of its handler.
type Writer struct {
	http.ResponseWriter
	Status int   // first final status; 0 until one is written
	Bytes  int64 // of the body
}

// Unwrap lets http.ResponseController and held responses through.
func (rec *Writer) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (rec *Writer) WriteHeader(status int) {
	if rec.Status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		rec.Status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (rec *Writer) Write(b []byte) (int, error) {
	if rec.Status == 0 {
		rec.Status = http.StatusOK
	}
	n, err := rec.ResponseWriter.Write(b)
	rec.Bytes += int64(n)
	return n, err
}

// Flush is here for handlers that ask for an http.Flusher by assertion.
func (rec *Writer) Flush() { _ = rec.FlushError() }

// FlushError is what http.ResponseController looks for.
func (rec *Writer) FlushError() error {
	if rec.Status == 0 {
		rec.Status = http.StatusOK
	}
	return http.NewResponseController(rec.ResponseWriter).Flush()
}

// Hijack is here for handlers that ask for an http.Hijacker by assertion.
func (rec *Writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(rec.ResponseWriter).Hijack()
	if err == nil && rec.Status == 0 {
		rec.Status = http.StatusSwitchingProtocols
	}
	return conn, rw, err
}

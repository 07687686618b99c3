// SPDX-License-Identifier: MIT

package server

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"m0serve.dev/http/internal/sys"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/wire"
)

// A responseWriter is the http.ResponseWriter of the loop. The header is taken
// as it is when the status is written, as in net/http.
type responseWriter struct {
	e        *stdExchange
	header   http.Header
	wrote    bool // WriteHeader was called, or implied
	sniff    bool // Content-Type is still to be guessed
	hijacked bool
	trailers []string // announced
}

// Header implements http.ResponseWriter.
func (w *responseWriter) Header() http.Header {
	if w.header == nil {
		w.header = make(http.Header)
	}
	return w.header
}

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(code int) {
	x := w.e.x
	switch {
	case w.e.done.Load(), w.hijacked:
		return
	case w.wrote:
		w.e.log.Warn("server: superfluous WriteHeader", "status", code, "kept", x.Status())
		return
	case !wire.ValidStatus(code):
		panic("server: WriteHeader with an invalid status code")
	case code < 200 && code != http.StatusSwitchingProtocols:
		// The error says that the peer is gone, which the answer will meet too.
		_ = x.Inform(code, w.appendLines(nil))
		return
	}
	w.wrote = true
	x.SetStatus(code)
	w.putHeader()
}

// putHeader gives the header to the engine.
func (w *responseWriter) putHeader() {
	x := w.e.x
	var some [8]headerField
	fields, all := w.common(some[:0])
	if !all {
		w.announce()
		fields = w.fields(some[:0])
	}
	w.sniff = true
	for i := range fields {
		name, values := fields[i].name, fields[i].values
		switch name {
		case "Content-Type":
			w.sniff = false
		case "Content-Encoding", "Transfer-Encoding":
			w.sniff = w.sniff && len(values) == 0
		case "Date":
			if len(values) == 0 {
				x.OmitDate()
			}
		}
		for _, value := range values {
			if err := x.Field(name, oneLine(value)); err != nil && name != "Content-Length" {
				w.e.log.Warn("server: field not sent", "name", name, "error", err)
			}
		}
	}
}

// A headerField is an entry of an http.Header.
type headerField struct {
	name   string
	values []string
}

// common are the fields that most answers have, in the order of their names. all: there
// are no others. To look for two is less work than to walk through the map.
func (w *responseWriter) common(fields []headerField) (_ []headerField, all bool) {
	if len(w.header) > len(commonNames) {
		return nil, false
	}
	for _, name := range commonNames {
		if values, has := w.header[name]; has {
			fields = append(fields, headerField{name, values})
		}
	}
	return fields, len(fields) == len(w.header)
}

// commonNames is never written.
var commonNames = [...]string{"Content-Length", "Content-Type"}

// fields are the header fields to send, in the order of their names.
func (w *responseWriter) fields(fields []headerField) []headerField {
	for name, values := range w.header {
		if !strings.HasPrefix(name, http.TrailerPrefix) && !slices.Contains(w.trailers, name) {
			fields = append(fields, headerField{name, values})
		}
	}
	if len(fields) > 1 {
		slices.SortFunc(fields, func(a, b headerField) int { return strings.Compare(a.name, b.name) })
	}
	return fields
}

// announce notes the trailers that the Trailer field names.
func (w *responseWriter) announce() {
	for _, list := range w.header["Trailer"] {
		for name := range strings.SplitSeq(list, ",") {
			w.trailers = append(w.trailers, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
}

// appendLines appends the header as whole lines, for an interim response.
func (w *responseWriter) appendLines(dst []byte) []byte {
	for _, f := range w.fields(nil) {
		if f.name == "Content-Length" || f.name == "Transfer-Encoding" {
			continue
		}
		for _, value := range f.values {
			if line, err := wire.AppendField(dst, f.name, oneLine(value)); err == nil {
				dst = line
			}
		}
	}
	return dst
}

// oneLine does to a value what net/http does: line ends become spaces, and the
// outside is trimmed.
func oneLine(value string) string {
	if strings.IndexByte(value, '\r') >= 0 || strings.IndexByte(value, '\n') >= 0 {
		value = strings.NewReplacer("\r", " ", "\n", " ").Replace(value)
	}
	if n := len(value); n == 0 || value[0] > ' ' && value[n-1] > ' ' {
		return value // nothing to trim
	}
	return strings.Trim(value, " \t")
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (int, error) {
	if err := w.beforeBody(); err != nil {
		return 0, err
	}
	if w.sniff && len(p) > 0 {
		w.guessType(p)
	}
	n, err := w.e.x.Write(p)
	return n, asStdError(err)
}

// WriteString implements io.StringWriter.
func (w *responseWriter) WriteString(s string) (int, error) {
	if err := w.beforeBody(); err != nil {
		return 0, err
	}
	if w.sniff && len(s) > 0 {
		w.guessType([]byte(s[:min(len(s), 512)]))
	}
	n, err := w.e.x.WriteString(s)
	return n, asStdError(err)
}

func (w *responseWriter) beforeBody() error {
	switch {
	case w.hijacked:
		return http.ErrHijacked
	case w.e.done.Load():
		return http.ErrHandlerTimeout
	case !w.wrote:
		w.WriteHeader(http.StatusOK)
	}
	return nil
}

func (w *responseWriter) guessType(p []byte) {
	w.sniff = false
	if w.e.x.Started() || w.e.x.Status() == http.StatusNoContent ||
		w.e.x.Status() == http.StatusNotModified {
		return
	}
	_ = w.e.x.Field("Content-Type", http.DetectContentType(p)) // a plain value
}

// finish is called when the handler has returned.
func (w *responseWriter) finish() {
	if w.hijacked {
		return
	}
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	for _, name := range w.trailers {
		w.putTrailer(name, w.header[name])
	}
	var some [len(commonNames)]headerField
	if _, all := w.common(some[:0]); all {
		return // none is a trailer
	}
	for name, values := range w.header {
		if cut, is := strings.CutPrefix(name, http.TrailerPrefix); is {
			w.putTrailer(cut, values)
		}
	}
}

func (w *responseWriter) putTrailer(name string, values []string) {
	for _, value := range values {
		if err := w.e.x.Trailer(name, oneLine(value)); err != nil {
			w.e.log.Warn("server: trailer not sent", "name", name, "error", err)
		}
	}
}

// Flush implements http.Flusher.
func (w *responseWriter) Flush() { _ = w.FlushError() }

// FlushError is what http.ResponseController looks for.
func (w *responseWriter) FlushError() error {
	if err := w.beforeBody(); err != nil {
		return err
	}
	return w.e.x.Flush()
}

// SetReadDeadline is what http.ResponseController looks for.
func (w *responseWriter) SetReadDeadline(t time.Time) error {
	w.e.x.SetReadDeadline(t)
	return nil
}

// SetWriteDeadline is what http.ResponseController looks for.
func (w *responseWriter) SetWriteDeadline(t time.Time) error {
	w.e.x.SetWriteDeadline(t)
	return nil
}

// EnableFullDuplex is what http.ResponseController looks for. The body may
// always be read while the answer is written.
func (w *responseWriter) EnableFullDuplex() error { return nil }

// HoldConn implements loop.Holder.
func (w *responseWriter) HoldConn(src loop.Source) (loop.Held, bool, error) {
	if w.hijacked || w.e.done.Load() {
		return nil, false, loop.ErrNotHoldable
	}
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	return w.e.x.HoldConn(src)
}

// Hijack implements http.Hijacker.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.hijacked {
		return nil, nil, http.ErrHijacked
	}
	fd, early, err := w.e.x.Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.hijacked = true
	conn, err := sys.ConnOf(fd)
	if err != nil {
		return nil, nil, err
	}
	in := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(early), conn), max(4096, len(early)))
	if _, err := in.Peek(len(early)); err != nil { // so that Buffered tells them
		return nil, nil, err
	}
	return conn, bufio.NewReadWriter(in, bufio.NewWriter(conn)), nil
}

// CloseNotify implements http.CloseNotifier, which old middleware asserts.
func (w *responseWriter) CloseNotify() <-chan bool {
	gone := make(chan bool, 1)
	ctx := w.e.req.Context()
	go func() {
		<-ctx.Done() // at the latest when the handler returns
		gone <- true
	}()
	return gone
}

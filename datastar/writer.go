// SPDX-License-Identifier: MIT

package datastar

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// A Component renders itself, as those of templ do.
type Component interface {
	Render(ctx context.Context, w io.Writer) error
}

// A Writer sends events to one response, flushing after each. Its methods may
// be called by any goroutine until the handler returns. After an error the
// stream is of no more use; the error is returned again.
type Writer struct {
	ctx context.Context

	mu  sync.Mutex
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf []byte
	err error
}

// NewWriter begins an event stream on w: it sends the header at once. Read the
// signals of the request first.
func NewWriter(w http.ResponseWriter, r *http.Request) (*Writer, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	h.Del("Content-Length")
	w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(w)
	if err := rc.Flush(); err != nil {
		return nil, fmt.Errorf("datastar: begin the stream: %w", err)
	}
	return &Writer{ctx: r.Context(), w: w, rc: rc}, nil
}

// Send appends one event with encode and writes it.
func (s *Writer) Send(encode func(dst []byte) ([]byte, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	b, err := encode(s.buf[:0])
	if err != nil {
		return err // nothing was written: the stream goes on
	}
	s.buf = b
	if _, err := s.w.Write(b); err != nil {
		s.err = fmt.Errorf("datastar: write: %w", err)
	} else if err := s.rc.Flush(); err != nil {
		s.err = fmt.Errorf("datastar: flush: %w", err)
	}
	return s.err
}

// PatchElements sends html into the page.
func (s *Writer) PatchElements(html string, o ElementsOptions) error {
	return s.Send(func(dst []byte) ([]byte, error) {
		return AppendPatchElements(dst, []byte(html), o)
	})
}

// PatchComponent renders c and sends it into the page.
func (s *Writer) PatchComponent(c Component, o ElementsOptions) error {
	var html bytes.Buffer
	if err := c.Render(s.ctx, &html); err != nil {
		return fmt.Errorf("datastar: render: %w", err)
	}
	return s.Send(func(dst []byte) ([]byte, error) {
		return AppendPatchElements(dst, html.Bytes(), o)
	})
}

// RemoveElements removes what selector finds.
func (s *Writer) RemoveElements(selector string, o ElementsOptions) error {
	return s.Send(func(dst []byte) ([]byte, error) { return AppendRemoveElements(dst, selector, o) })
}

// PatchSignals encodes v as JSON and merges it into the page's signals.
func (s *Writer) PatchSignals(v any, o SignalsOptions) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("datastar: signals: %w", err)
	}
	return s.Send(func(dst []byte) ([]byte, error) { return AppendPatchSignals(dst, doc, o) })
}

// Script runs a script in the page.
func (s *Writer) Script(script string, o ScriptOptions) error {
	return s.Send(func(dst []byte) ([]byte, error) { return AppendScript(dst, script, o) })
}

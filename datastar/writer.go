// SPDX-License-Identifier: MIT

package datastar

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// A Writer sends events to one response, flushing after each. Its methods may
// be called by any goroutine until the handler returns; events go out whole, in
// the order of the calls. An event that cannot be encoded is an error of its
// call alone; once the peer is gone every call returns that.
type Writer struct {
	r *http.Request

	mu  sync.Mutex
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf []byte // of the last event, used again
	err error  // why nothing more can be written
}

// bufMax is the largest buffer that a Writer keeps between two events.
const bufMax = 64 << 10

// NewWriter begins an event stream on w: it sends the header at once. Read the
// signals of the request first.
func NewWriter(w http.ResponseWriter, r *http.Request) (*Writer, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx: pass every event on at once
	h.Del("Content-Length")
	w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(w)
	if err := rc.Flush(); err != nil {
		return nil, fmt.Errorf("datastar: begin the stream: %w", err)
	}
	return &Writer{r: r, w: w, rc: rc}, nil
}

// Send appends events with encode and writes them. encode must not call the
// Writer.
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
	if s.buf = b; cap(b) > bufMax {
		s.buf = nil
	}
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
		return AppendPatchElements(dst, bytesOf(html), o)
	})
}

// PatchComponent sends what c renders into the page. Other events wait while it
// does, and it must not call the Writer.
func (s *Writer) PatchComponent(c Component, o ElementsOptions) error {
	return s.Send(func(dst []byte) ([]byte, error) {
		return AppendPatchComponent(s.r.Context(), dst, c, o)
	})
}

// RemoveElements removes what selector finds.
func (s *Writer) RemoveElements(selector string, o ElementsOptions) error {
	return s.Send(func(dst []byte) ([]byte, error) {
		return AppendRemoveElements(dst, selector, o)
	})
}

// PatchSignals encodes v as JSON and merges it into the page's signals. A
// json.RawMessage is sent as it is.
func (s *Writer) PatchSignals(v any, o SignalsOptions) error {
	doc, isRaw := v.(json.RawMessage)
	if !isRaw {
		var err error
		if doc, err = json.Marshal(v); err != nil {
			return fmt.Errorf("datastar: signals: %w", err)
		}
	}
	return s.Send(func(dst []byte) ([]byte, error) { return AppendPatchSignals(dst, doc, o) })
}

// RemoveSignals removes the signals at the paths.
func (s *Writer) RemoveSignals(o SignalsOptions, paths ...string) error {
	return s.Send(func(dst []byte) ([]byte, error) { return AppendRemoveSignals(dst, o, paths...) })
}

// ExecuteScript runs a script in the page.
func (s *Writer) ExecuteScript(script string, o ScriptOptions) error {
	return s.Send(func(dst []byte) ([]byte, error) { return AppendExecuteScript(dst, script, o) })
}

// Redirect sends the page to url.
func (s *Writer) Redirect(url string, o ScriptOptions) error {
	return s.Send(func(dst []byte) ([]byte, error) { return AppendRedirect(dst, url, o) })
}

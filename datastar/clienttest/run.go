// SPDX-License-Identifier: MIT

package clienttest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

// run is the life of the tab.
func (t *Tab) run() {
	defer close(t.events)
	t.end = &EndError{Reason: EndClosed}
	for t.awaitShown() {
		ctx, cancel := context.WithCancel(t.ctx)
		if t.begin(cancel) {
			end := t.once(ctx)
			if end != nil && t.ctx.Err() == nil {
				t.end = end
				cancel()
				return
			}
		}
		cancel()
	}
}

// awaitShown waits while the tab is hidden; false: it was closed.
func (t *Tab) awaitShown() bool {
	t.mu.Lock()
	hidden, shown := t.hidden && !t.cfg.OpenWhenHidden, t.shown
	t.mu.Unlock()
	if hidden {
		select {
		case <-shown:
		case <-t.ctx.Done():
		}
	}
	return t.ctx.Err() == nil
}

// begin makes cancel what Hide calls; false: the tab is hidden again.
func (t *Tab) begin(cancel context.CancelFunc) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop = cancel
	return !t.hidden || t.cfg.OpenWhenHidden
}

// once makes one request and waits when the client would. nil: go on.
func (t *Tab) once(ctx context.Context) *EndError {
	t.bodies <- struct{}{}
	res := t.request(ctx)
	<-t.bodies
	switch {
	case ctx.Err() != nil:
		return nil // dropped by Hide or Close, which is no failure
	case !t.cfg.Retry.again(res):
		return &EndError{Reason: reasonOf(res), Status: res.status}
	}
	d, more := t.back.wait()
	if !more {
		return &EndError{Reason: EndRetries, Status: res.status}
	}
	t.mu.Lock()
	t.waits = append(t.waits, d)
	t.mu.Unlock()
	t.cfg.Sleep(ctx, d)
	return nil
}

// request makes one request and reads its stream.
func (t *Tab) request(ctx context.Context) result {
	req, err := t.newRequest(ctx)
	if err != nil {
		return result{}
	}
	if ctx.Err() != nil {
		return result{} // hidden before it began
	}
	t.mu.Lock()
	t.requests++
	t.mu.Unlock()
	resp, err := t.cfg.Client.Do(req)
	if err != nil {
		return result{}
	}
	defer resp.Body.Close()
	res := result{status: resp.StatusCode, stream: isStream(resp.Header.Get("Content-Type"))}
	if res.status == http.StatusOK {
		t.back.reset()
		if res.stream {
			res.clean = t.read(ctx, resp.Body) == nil
		}
	}
	return res
}

// isStream tells a stream from the answers that the client has other uses for.
func isStream(contentType string) bool {
	for _, other := range []string{"text/html", "application/json", "text/javascript"} {
		if strings.Contains(contentType, other) {
			return false
		}
	}
	return true
}

var errID = errors.New("clienttest: an id that no header can carry")

func (t *Tab) newRequest(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream, text/html, application/json")
	req.Header.Set("Datastar-Request", "true")
	id, ok := latin1(t.LastEventID())
	if !ok {
		return nil, errID
	}
	if id != "" {
		req.Header.Set("Last-Event-ID", id)
	}
	return req, nil
}

// latin1 is the id as the bytes of a header; false: fetch would throw.
func latin1(id string) (string, bool) {
	var b strings.Builder
	for _, r := range id {
		if r > 0xff {
			return "", false
		}
		b.WriteByte(byte(r))
	}
	return b.String(), true
}

// read gives the events of the body. nil: it came to its end.
func (t *Tab) read(ctx context.Context, body io.Reader) error {
	p := &parser{lastID: t.LastEventID(), id: t.setLastID, retry: t.back.setBase}
	p.event = func(e Event) error {
		select {
		case t.events <- e:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		if err := p.feed(buf[:n]); err != nil {
			return err
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *Tab) setLastID(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastID = id
}

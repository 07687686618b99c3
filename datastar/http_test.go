// SPDX-License-Identifier: MIT

package datastar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestReadSignals(t *testing.T) {
	type signals struct {
		Draft string `json:"draft"`
	}
	big := `{"draft":"` + strings.Repeat("x", SignalsMax) + `"}`
	for _, c := range []struct {
		method, doc, want string
		status            int
	}{
		{"GET", `{"draft":"é&=?"}`, "é&=?", 0}, {"DELETE", `{"draft":"d"}`, "d", 0},
		{"HEAD", `{"draft":"h"}`, "h", 0}, {"POST", `{"draft":"p"}`, "p", 0},
		{"PUT", `{"draft":"u"}`, "u", 0}, {"PATCH", `{"draft":"a"}`, "a", 0},
		{"QUERY", `{"draft":"q"}`, "q", 0}, {"GET", "", "kept", 0}, {"POST", "", "kept", 0},
		{"POST", " \n{\"draft\":\"s\"}\n", "s", 0},
		{"GET", "{", "", 400}, {"POST", "{", "", 400}, {"POST", `{"draft":7}`, "", 400},
		{"POST", `{"draft":"a"} x`, "", 400}, {"DELETE", `[]`, "", 400},
		{"POST", big, "", 413}, {"GET", big, "", 413},
	} {
		target, body := "/", ""
		switch c.method {
		case "GET", "HEAD", "DELETE":
			if c.doc != "" {
				target += "?datastar=" + url.QueryEscape(c.doc)
			}
		default:
			body = c.doc
		}
		got := signals{Draft: "kept"}
		err := ReadSignals(httptest.NewRequest(c.method, target, strings.NewReader(body)), &got)
		var bad *SignalsError
		switch {
		case c.status == 0 && (err != nil || got.Draft != c.want):
			t.Errorf("ReadSignals(%s %.30q) = %q, %v; want %q", c.method, c.doc, got.Draft, err, c.want)
		case c.status != 0 && (!errors.As(err, &bad) || bad.Status != c.status):
			t.Errorf("ReadSignals(%s %.30q) = %v; want status %d", c.method, c.doc, err, c.status)
		}
	}
}

func TestReadSignalsHonoursMaxBytesReader(t *testing.T) {
	r := httptest.NewRequest("POST", "/", strings.NewReader(`{"draft":"too long"}`))
	r.ContentLength = -1
	r.Body = http.MaxBytesReader(httptest.NewRecorder(), r.Body, 5)
	var bad *SignalsError
	if err := ReadSignals(r, &struct{}{}); !errors.As(err, &bad) || bad.Status != 413 {
		t.Errorf("ReadSignals past a MaxBytesReader = %v; want status 413", err)
	}
}

type component string

func (c component) Render(_ context.Context, w io.Writer) error {
	if c == "" {
		return errors.New("nothing to render")
	}
	_, err := io.WriteString(w, string(c))
	return err
}

func TestWriterFlushesEachEventInOrder(t *testing.T) {
	w := httptest.NewRecorder()
	s, err := NewWriter(w, httptest.NewRequest("GET", "/", nil))
	if err != nil {
		t.Fatal(err)
	}
	if !w.Flushed {
		t.Error("the header was not sent at once")
	}
	for i, call := range []func() error{
		func() error { return s.PatchElements("<p id=a>", ElementsOptions{}) },
		func() error { return s.PatchComponent(component("<p id=b>"), ElementsOptions{}) },
		func() error { return s.PatchSignals(map[string]int{"n": 1}, SignalsOptions{}) },
		func() error { return s.RemoveElements("#a", ElementsOptions{}) },
		func() error { return s.Script("f()", ScriptOptions{}) },
	} {
		w.Flushed = false
		if err := call(); err != nil || !w.Flushed {
			t.Errorf("event %d: %v, flushed %v; want nil and flushed", i, err, w.Flushed)
		}
	}
	if err := s.PatchComponent(component(""), ElementsOptions{}); err == nil {
		t.Error("a component that cannot render gave no error")
	}
	if err := s.PatchElements("x", ElementsOptions{Mode: Inner}); !errors.Is(err, ErrSelector) {
		t.Errorf("PatchElements without its selector: %v; want ErrSelector", err)
	}
	if blocks := parse(w.Body.String()); len(blocks) != 5 {
		t.Errorf("%d events on the wire; want 5:\n%s", len(blocks), w.Body)
	}
	for name, want := range map[string]string{"Content-Type": "text/event-stream",
		"Cache-Control": "no-cache", "X-Accel-Buffering": "no"} {
		if got := w.Result().Header.Get(name); got != want {
			t.Errorf("%s: %q; want %q", name, got, want)
		}
	}
}

type brokenWriter struct{ http.ResponseWriter }

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("gone") }
func (brokenWriter) Flush()                    {}

func TestWriterKeepsItsError(t *testing.T) {
	s, err := NewWriter(brokenWriter{httptest.NewRecorder()}, httptest.NewRequest("GET", "/", nil))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.PatchElements("x", ElementsOptions{}); err == nil || !strings.Contains(err.Error(), "gone") {
			t.Errorf("PatchElements to a peer that is gone: %v; want the cause", err)
		}
	}
}

type noFlush struct{ http.ResponseWriter }

func (noFlush) Flush(int) {} // not a Flusher

func TestNewWriterWithoutFlushIsAnErrorNotAPanic(t *testing.T) {
	if _, err := NewWriter(noFlush{httptest.NewRecorder()}, httptest.NewRequest("GET", "/", nil)); err == nil {
		t.Error("NewWriter on a writer that cannot flush gave no error")
	}
}

func ExampleAppendPatchElements() {
	frame, err := AppendPatchElements(nil, []byte("<p id=\"hi\">hello</p>"), ElementsOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Print(string(bytes.TrimRight(frame, "\n")))
	// Output:
	// event: datastar-patch-elements
	// data: elements <p id="hi">hello</p>
}

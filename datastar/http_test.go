// SPDX-License-Identifier: MIT

package datastar

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
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
		{"GET", "?datastar=", "", 400}, {"GET", "?a=1&datastar=%zz", "", 400},
		{"GET", "?a=%zz&datastar={\"draft\":\"z\"}", "z", 0}, {"GET", "?since=7", "kept", 0},
		{"POST", `{"draft":"a"} x`, "", 400}, {"DELETE", `[]`, "", 400},
		{"POST", big, "", 413}, {"GET", big, "", 413},
	} {
		target, body := "/", ""
		switch c.method {
		case "GET", "HEAD", "DELETE":
			if c.doc != "" && c.doc[0] == '?' {
				target += c.doc
			} else if c.doc != "" {
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
			t.Errorf("ReadSignals(%s %.30q) = %q, %v; want %q",
				c.method, c.doc, got.Draft, err, c.want)
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

func TestReadSignalsUpTo(t *testing.T) {
	var v struct{ A string }
	for max, want := range map[int64]int{9: 0, 8: 413} {
		for _, length := range []int64{9, -1} {
			r := httptest.NewRequest("PUT", "/", strings.NewReader(`{"a":"x"}`))
			r.ContentLength = length
			err := ReadSignalsUpTo(r, &v, max)
			var bad *SignalsError
			if (want == 0) != (err == nil) || errors.As(err, &bad) && bad.Status != want {
				t.Errorf("ReadSignalsUpTo(9 bytes, length %d, %d) = %v, want status %d",
					length, max, err, want)
			}
		}
	}
}

func TestReadSignalsOfBrokenBody(t *testing.T) {
	gone := errors.New("gone")
	r := httptest.NewRequest("POST", "/", iotest.ErrReader(gone))
	var bad *SignalsError
	err := ReadSignals(r, &struct{}{})
	if !errors.As(err, &bad) || bad.Status != 400 || !errors.Is(err, gone) {
		t.Errorf("ReadSignals of a broken body = %v, want status 400 and the cause", err)
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
		func() error { return s.ExecuteScript("f()", ScriptOptions{}) },
		func() error { return s.RemoveSignals(SignalsOptions{}, "n") },
		func() error { return s.PatchSignals(json.RawMessage("{\n}"), SignalsOptions{}) },
		func() error { return s.Redirect("/next", ScriptOptions{}) },
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
	if blocks := parse(w.Body.String()); len(blocks) != 8 {
		t.Errorf("%d events on the wire; want 8:\n%s", len(blocks), w.Body)
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
		err := s.PatchElements("x", ElementsOptions{})
		if err == nil || !strings.Contains(err.Error(), "gone") {
			t.Errorf("PatchElements to a peer that is gone: %v; want the cause", err)
		}
	}
}

type noFlush struct{ http.ResponseWriter }

func (noFlush) Flush(int) {} // not a Flusher

// TestComponentGoesStraightIn: what a component writes in pieces becomes the
// lines of one event, and one that fails halfway leaves nothing behind.
func TestComponentGoesStraightIn(t *testing.T) {
	pieces := renderFunc(func(w io.Writer) error {
		for _, s := range []string{"<p>\r", "\n", "</p>", "\n"} {
			if _, err := io.WriteString(w, s); err != nil {
				return err
			}
		}
		return nil
	})
	want, err := AppendPatchElements(nil, []byte("<p>\n</p>\n"), ElementsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	got, err := AppendPatchComponent(ctx, nil, pieces, ElementsOptions{})
	if err != nil || string(got) != string(want) {
		t.Errorf("AppendPatchComponent = %q, %v, want %q", got, err, want)
	}
	boom := errors.New("boom")
	broken := renderFunc(func(w io.Writer) error {
		_, _ = io.WriteString(w, "<p>half")
		return boom
	})
	got, err = AppendPatchComponent(ctx, []byte("="), broken, ElementsOptions{})
	if !errors.Is(err, boom) || string(got) != "=" {
		t.Errorf("AppendPatchComponent of one that fails = %q, %v, want nothing appended", got, err)
	}
}

type renderFunc func(io.Writer) error

func (f renderFunc) Render(_ context.Context, w io.Writer) error { return f(w) }

func TestNewWriterWithoutFlushIsAnErrorNotAPanic(t *testing.T) {
	w := noFlush{httptest.NewRecorder()}
	if _, err := NewWriter(w, httptest.NewRequest("GET", "/", nil)); err == nil {
		t.Error("NewWriter on a writer that cannot flush gave no error")
	}
}

// SPDX-License-Identifier: MIT

package datastar

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// answered is what a client gets of the handler: the body and the fields.
func answered(t *testing.T, handler http.HandlerFunc) (string, http.Header) {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	resp, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("answer: %d, %v; want 200", resp.StatusCode, err)
	}
	if resp.ContentLength != int64(len(body)) {
		t.Errorf("Content-Length %d of %d bytes", resp.ContentLength, len(body))
	}
	return string(body), resp.Header
}

func wantFields(t *testing.T, h http.Header, want map[string]string) {
	t.Helper()
	for name := range h {
		if strings.HasPrefix(name, "Datastar-") && want[name] == "" {
			t.Errorf("field %s: %q, want none", name, h.Get(name))
		}
	}
	for name, value := range want {
		if got := h.Get(name); got != value {
			t.Errorf("field %s: %q, want %q", name, got, value)
		}
	}
}

func TestAnswerElements(t *testing.T) {
	for _, x := range []struct {
		o    ElementsOptions
		want map[string]string
	}{
		{ElementsOptions{}, map[string]string{"Content-Type": "text/html; charset=utf-8"}},
		{ElementsOptions{Selector: "#list > li", Mode: Prepend, UseViewTransition: true},
			map[string]string{"Datastar-Selector": "#list > li", "Datastar-Mode": "prepend",
				"Datastar-Use-View-Transition": "true"}},
		{ElementsOptions{Selector: `#größe [title="\ü \\ü 😀"]`, Namespace: SVG}, map[string]string{
			"Datastar-Selector":  `#gr\f6 \df e [title="\fc  \\\fc  \1f600 "]`,
			"Datastar-Namespace": "svg",
		}},
	} {
		body, h := answered(t, func(w http.ResponseWriter, _ *http.Request) {
			if err := AnswerElements(w, []byte("<b>\n</b>"), x.o); err != nil {
				t.Errorf("AnswerElements(%+v): %v", x.o, err)
			}
		})
		if body != "<b>\n</b>" {
			t.Errorf("AnswerElements(%+v): body %q", x.o, body)
		}
		wantFields(t, h, x.want)
	}
}

func TestAnswerSignals(t *testing.T) {
	for _, x := range []struct {
		v       any
		missing bool
		want    string
	}{
		{map[string]any{"a": 1}, false, `{"a":1}`},
		{json.RawMessage(` {"a": null} `), true, `{"a":null}`},
	} {
		body, h := answered(t, func(w http.ResponseWriter, _ *http.Request) {
			if err := AnswerSignals(w, x.v, SignalsOptions{OnlyIfMissing: x.missing}); err != nil {
				t.Errorf("AnswerSignals(%v): %v", x.v, err)
			}
		})
		want := map[string]string{"Content-Type": "application/json"}
		if x.missing {
			want["Datastar-Only-If-Missing"] = "true"
		}
		wantFields(t, h, want)
		if body != x.want {
			t.Errorf("AnswerSignals(%v): %q, want %q", x.v, body, x.want)
		}
	}
}

func TestAnswerScript(t *testing.T) {
	body, h := answered(t, func(w http.ResponseWriter, _ *http.Request) {
		err := AnswerScript(w, "f('</script>')",
			Attribute{"type", "module"}, Attribute{"data-a", "ü\"😀"})
		if err != nil {
			t.Errorf("AnswerScript: %v", err)
		}
	})
	if body != "f('</script>')" {
		t.Errorf("AnswerScript: body %q", body)
	}
	wantFields(t, h, map[string]string{
		"Content-Type":               "text/javascript; charset=utf-8",
		"Datastar-Script-Attributes": `{"type":"module","data-a":"\u00fc\"\ud83d\ude00"}`,
	})
	_, h = answered(t, func(w http.ResponseWriter, _ *http.Request) { _ = AnswerScript(w, "f()") })
	wantFields(t, h, map[string]string{"Content-Type": "text/javascript; charset=utf-8"})
}

func TestAnswerComponent(t *testing.T) {
	body, _ := answered(t, func(w http.ResponseWriter, r *http.Request) {
		part := renderFunc(func(w io.Writer) error {
			_, err := io.WriteString(w, "<b>1</b>")
			return err
		})
		if err := AnswerComponent(w, r, part, ElementsOptions{}); err != nil {
			t.Errorf("AnswerComponent: %v", err)
		}
	})
	if body != "<b>1</b>" {
		t.Errorf("AnswerComponent: body %q", body)
	}
}

// TestAnswerRefuses: what would break out of a field, or has none, is an error; nothing is sent.
func TestAnswerRefuses(t *testing.T) {
	sorry := errors.New("sorry")
	elements := func(o ElementsOptions) func(http.ResponseWriter) error {
		return func(w http.ResponseWriter) error { return AnswerElements(w, []byte("<b>"), o) }
	}
	for _, x := range []struct {
		what string
		call func(http.ResponseWriter) error
		want error
	}{
		{"CRLF", elements(ElementsOptions{Selector: "#a\r\nSet-Cookie: a=b"}), ErrLine},
		{"LF", elements(ElementsOptions{Selector: "#a\nb"}), ErrLine},
		{"NUL", elements(ElementsOptions{Selector: "#a\x00"}), ErrLine},
		{"escape", elements(ElementsOptions{Selector: "#a\x1b"}), ErrLine},
		{"no selector", elements(ElementsOptions{Mode: Append}), ErrSelector},
		{"no mode", elements(ElementsOptions{Mode: 99}), ErrOption},
		{"id", elements(ElementsOptions{Common: Common{ID: "1"}}), ErrAnswer},
		{"retry", elements(ElementsOptions{Common: Common{Retry: time.Hour}}), ErrAnswer},
		{"transition", elements(ElementsOptions{ViewTransitionSelector: "b"}), ErrAnswer},
		{"signals with an id", func(w http.ResponseWriter) error {
			return AnswerSignals(w, 1, SignalsOptions{Common: Common{ID: "1"}})
		}, ErrAnswer},
		{"attribute", func(w http.ResponseWriter) error {
			return AnswerScript(w, "f()", Attribute{"a b", ""})
		}, ErrAttribute},
		{"attribute value", func(w http.ResponseWriter) error {
			return AnswerScript(w, "f()", Attribute{"a", "b\n"})
		}, ErrLine},
		{"component", func(w http.ResponseWriter) error {
			fails := renderFunc(func(io.Writer) error { return sorry })
			return AnswerComponent(w, httptest.NewRequest("GET", "/", nil), fails, ElementsOptions{})
		}, sorry},
	} {
		w := httptest.NewRecorder()
		if err := x.call(w); !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", x.what, err, x.want)
		}
		if len(w.Header()) > 0 || w.Body.Len() > 0 {
			t.Errorf("%s: sent %v %q, want nothing", x.what, w.Header(), w.Body)
		}
	}
	w := httptest.NewRecorder()
	raw := json.RawMessage(`{"a": alert(1)}`) // the client would run it
	if err := AnswerSignals(w, raw, SignalsOptions{}); err == nil || len(w.Header()) > 0 {
		t.Errorf("signals that are no JSON: %v, %v; want an error", err, w.Header())
	}
}

func TestIsRequest(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	if IsRequest(r) {
		t.Error("a browser's own request is taken for the client's")
	}
	r.Header.Set("Datastar-Request", "true")
	if !IsRequest(r) {
		t.Error("the client's request is not recognised")
	}
}

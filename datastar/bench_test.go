// SPDX-License-Identifier: MIT

package datastar

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

var (
	lineKB = []byte("<p>" + strings.Repeat("text of a page ", 68) + "</p>")
	page20 = []byte(strings.Repeat("<p>one of four hundred and thirty lines</p>\n", 430))
	object = []byte(`{"count":12345,"user":{"name":"someone","tags":["a"]},"live":true,"n":1.5}`)
)

func TestAppendAllocatesNothing(t *testing.T) {
	dst := make([]byte, 0, 64<<10)
	common := Common{ID: "123456789", Retry: DefaultRetry * 2}
	elements := ElementsOptions{Selector: "#list", Mode: Inner, Common: common}
	script := ScriptOptions{Common: common, Attributes: []Attribute{{"type", "module"}}}
	for name, call := range map[string]func() ([]byte, error){
		"PatchElements": func() ([]byte, error) {
			return AppendPatchElements(dst, page20, elements)
		},
		"RemoveElements": func() ([]byte, error) {
			return AppendRemoveElements(dst, "#a", ElementsOptions{})
		},
		"PatchSignals": func() ([]byte, error) {
			return AppendPatchSignals(dst, object, SignalsOptions{Common: common})
		},
		"ExecuteScript": func() ([]byte, error) {
			return AppendExecuteScript(dst, "f('</script>')", script)
		},
		"ConsoleLog": func() ([]byte, error) { return AppendConsoleLog(dst, "it's <b>", script) },
		"Redirect":   func() ([]byte, error) { return AppendRedirect(dst, "https://h/x", script) },
	} {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := call(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("Append%s allocates %v times, want 0", name, n)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	dst := make([]byte, 0, 64<<10)
	var part Component = component(lineKB)
	full := ElementsOptions{Selector: "#list", Mode: Inner, Common: Common{ID: "123456789"}}
	for _, c := range []struct {
		name string
		call func() ([]byte, error)
	}{
		{"elements_1K", func() ([]byte, error) {
			return AppendPatchElements(dst, lineKB, ElementsOptions{})
		}},
		{"elements_1K_options", func() ([]byte, error) {
			return AppendPatchElements(dst, lineKB, full)
		}},
		{"elements_20K_430_lines", func() ([]byte, error) {
			return AppendPatchElements(dst, page20, ElementsOptions{})
		}},
		{"component_1K", func() ([]byte, error) {
			return AppendPatchComponent(context.Background(), dst, part, ElementsOptions{})
		}},
		{"signals_100B", func() ([]byte, error) {
			return AppendPatchSignals(dst, object, SignalsOptions{})
		}},
		{"script", func() ([]byte, error) {
			return AppendExecuteScript(dst, "console.log(1)", ScriptOptions{})
		}},
		{"floor_1K", func() ([]byte, error) { return append(dst, lineKB...), nil }},
		{"floor_20K", func() ([]byte, error) { return floorLines(dst, page20), nil }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// floorLines is the least that can be done: every line copied behind its key,
// where all lines are known to have one length.
func floorLines(dst, text []byte) []byte {
	size := len(text) / 430
	for ; len(text) >= size; text = text[size:] {
		dst = append(append(dst, elementsKey...), text[:size]...)
	}
	return append(dst, '\n')
}

// BenchmarkThousandStreams encodes once and writes a thousand times.
func BenchmarkThousandStreams(b *testing.B) {
	b.ReportAllocs()
	dst := make([]byte, 0, 4<<10)
	for b.Loop() {
		event, err := AppendPatchElements(dst, lineKB, ElementsOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for range 1000 {
			if _, err := io.Discard.Write(event); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// nowhere is a response that costs nothing, to compare with other libraries.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n nowhere) WriteHeader(int)             {}
func (n nowhere) FlushError() error           { return nil }

// BenchmarkWriter is the whole way of an event, but for the socket.
func BenchmarkWriter(b *testing.B) {
	s, err := NewWriter(nowhere{http.Header{}}, httptest.NewRequest("GET", "/", nil))
	if err != nil {
		b.Fatal(err)
	}
	line, page := string(lineKB), string(page20)
	full := ElementsOptions{Selector: "#list", Mode: Inner, Common: Common{ID: "123456789"}}
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"elements_1K", func() error { return s.PatchElements(line, ElementsOptions{}) }},
		{"elements_1K_options", func() error { return s.PatchElements(line, full) }},
		{"elements_20K_430_lines", func() error { return s.PatchElements(page, ElementsOptions{}) }},
		{"signals_100B", func() error {
			return s.PatchSignals(json.RawMessage(object), SignalsOptions{})
		}},
		{"script", func() error { return s.ExecuteScript("console.log(1)", ScriptOptions{}) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

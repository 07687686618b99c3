// SPDX-License-Identifier: MIT

package datastar

import (
	"errors"
	"html"
	"strings"
	"testing"
	"time"
)

// A block is one event as a client hears it, by a parser that shares nothing
// with the encoder (WHATWG HTML 9.2.6).
type block struct {
	event, id string
	data      []string
}

func parse(stream string) (blocks []block) {
	stream = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream)
	var b block
	for _, line := range strings.Split(stream, "\n") {
		if line == "" {
			if b.data != nil || b.event != "" || b.id != "" {
				blocks = append(blocks, b)
			}
			b = block{}
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			b.event = value
		case "id":
			b.id = value
		case "data":
			b.data = append(b.data, value)
		}
	}
	return blocks
}

// joined is the text that the client puts together from the lines of one name.
func (b block) joined(name string) string {
	var lines []string
	for _, line := range b.data {
		if word, rest, _ := strings.Cut(line, " "); word == name {
			lines = append(lines, rest)
		}
	}
	return strings.Join(lines, "\n")
}

func TestAppendPatchElements(t *testing.T) {
	for _, c := range []struct {
		html string
		o    ElementsOptions
		want string
	}{
		{"<p id=a></p>", ElementsOptions{}, "data: elements <p id=a></p>\n"},
		{"", ElementsOptions{Selector: "#a", Mode: Remove}, "data: selector #a\ndata: mode remove\n"},
		{"a\n\nb", ElementsOptions{}, "data: elements a\ndata: elements \ndata: elements b\n"},
		{"a\r\nb\rc\n", ElementsOptions{},
			"data: elements a\ndata: elements b\ndata: elements c\ndata: elements \n"},
		{"<g/>", ElementsOptions{Namespace: SVG, Selector: "svg", Mode: Append,
			UseViewTransition: true, ViewTransitionSelector: ".v"},
			"data: selector svg\ndata: mode append\ndata: useViewTransition true\n" +
				"data: viewTransitionSelector .v\ndata: namespace svg\ndata: elements <g/>\n"},
		{"x", ElementsOptions{ViewTransitionSelector: ".v"}, "data: elements x\n"},
		{"x", ElementsOptions{Common: Common{ID: "7", Retry: 3 * time.Second}},
			"id: 7\nretry: 3000\ndata: elements x\n"},
		{"x", ElementsOptions{Common: Common{Retry: DefaultRetry}}, "data: elements x\n"},
	} {
		want := "=event: datastar-patch-elements\n" + c.want + "\n"
		got, err := AppendPatchElements([]byte("="), []byte(c.html), c.o)
		if string(got) != want || err != nil {
			t.Errorf("AppendPatchElements(%q, %+v) = %q, %v; want %q", c.html, c.o, got, err, want)
		}
	}
}

func TestErrorsAppendNothing(t *testing.T) {
	bad := Common{ID: "a\nb"}
	elements := func(o ElementsOptions) func([]byte) ([]byte, error) {
		return func(dst []byte) ([]byte, error) { return AppendPatchElements(dst, []byte("x"), o) }
	}
	script := func(a ...Attribute) func([]byte) ([]byte, error) {
		return func(dst []byte) ([]byte, error) {
			return AppendScript(dst, "x", ScriptOptions{Attributes: a})
		}
	}
	for name, c := range map[string]struct {
		call func([]byte) ([]byte, error)
		want error
	}{
		"id":               {elements(ElementsOptions{Common: bad}), ErrLine},
		"id of signals":    {func(d []byte) ([]byte, error) { return AppendPatchSignals(d, nil, SignalsOptions{Common: bad}) }, ErrLine},
		"selector":         {elements(ElementsOptions{Selector: "a\rb"}), ErrLine},
		"view transition":  {elements(ElementsOptions{ViewTransitionSelector: "a\n"}), ErrLine},
		"no selector":      {elements(ElementsOptions{Mode: Inner}), ErrSelector},
		"remove nothing":   {func(d []byte) ([]byte, error) { return AppendRemoveElements(d, "", ElementsOptions{}) }, ErrSelector},
		"mode":             {elements(ElementsOptions{Mode: 99}), ErrOption},
		"namespace":        {elements(ElementsOptions{Namespace: 99}), ErrOption},
		"attribute name":   {script(Attribute{"a b", ""}), ErrAttribute},
		"attribute value":  {script(Attribute{"a", "b\nc"}), ErrLine},
		"no attribute":     {script(Attribute{"", "x"}), ErrAttribute},
		"attribute breaks": {script(Attribute{"a>", "x"}), ErrAttribute},
	} {
		got, err := c.call([]byte("="))
		if !errors.Is(err, c.want) || string(got) != "=" {
			t.Errorf("%s: got %q, %v; want nothing appended and %v", name, got, err, c.want)
		}
	}
}

func TestScriptCannotBreakOut(t *testing.T) {
	for _, hostile := range []string{
		"</script><b>", "</SCRIPT >", "<!--<script>", "\u2028x", "it's \"q\" \\ `", "a\nb", "\x00\a\U0010ffff",
	} {
		for name, call := range map[string]func(string) ([]byte, error){
			"console": func(s string) ([]byte, error) { return AppendConsoleLog(nil, s, ScriptOptions{}) },
			"error":   func(s string) ([]byte, error) { return AppendConsoleError(nil, s, ScriptOptions{}) },
			"go":      func(s string) ([]byte, error) { return AppendRedirect(nil, s, ScriptOptions{}) },
			"url":     func(s string) ([]byte, error) { return AppendReplaceURL(nil, s, ScriptOptions{}) },
			"event":   func(s string) ([]byte, error) { return AppendDispatch(nil, s, s, nil, ScriptOptions{}) },
			"script": func(s string) ([]byte, error) {
				return AppendScript(nil, s, ScriptOptions{Attributes: []Attribute{{"title", strings.ReplaceAll(strings.ReplaceAll(s, "\n", " "), "\x00", "")}}})
			},
		} {
			b, err := call(hostile)
			if err != nil {
				t.Errorf("%s(%q): %v", name, hostile, err)
				continue
			}
			blocks := parse(string(b))
			if len(blocks) != 1 {
				t.Errorf("%s(%q) is heard as %d events", name, hostile, len(blocks))
				continue
			}
			element := strings.ToLower(blocks[0].joined("elements"))
			if strings.Count(element, "</script") != 1 || strings.Count(element, "<script") != 1 ||
				strings.Contains(element, "<!--") || !strings.HasSuffix(element, "</script>") {
				t.Errorf("%s(%q) = %s; want one script element", name, hostile, element)
			}
		}
	}
}

func TestAttributeValuesStayValues(t *testing.T) {
	const value = `"><img src=x onerror=1>&amp;`
	b, err := AppendScript(nil, "x", ScriptOptions{Attributes: []Attribute{{"title", value}}})
	if err != nil {
		t.Fatal(err)
	}
	element := parse(string(b))[0].joined("elements")
	_, rest, _ := strings.Cut(element, `title="`)
	inside, _, _ := strings.Cut(rest, `"`)
	if html.UnescapeString(inside) != value || strings.Contains(element, "<img") {
		t.Errorf("attribute %q became %s", value, element)
	}
}

// FuzzEvents: whatever goes in, one event is heard, with exactly what was sent.
func FuzzEvents(f *testing.F) {
	f.Add("<p>a\r\n\r\nevent: x\rid: 9\n</p>", "#a", "1")
	f.Add("\n", "a b > c", "")
	f.Add("data: elements x", "\n", "\r")
	f.Fuzz(func(t *testing.T, text, selector, id string) {
		o := ElementsOptions{Common: Common{ID: id}, Selector: selector, Mode: Replace}
		b, err := AppendPatchElements(nil, []byte(text), o)
		if err != nil {
			if isLine(id) && isLine(selector) {
				t.Fatalf("AppendPatchElements(%q, %+v): %v", text, o, err)
			}
			return
		}
		blocks := parse(string(b))
		want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
		if len(blocks) != 1 || blocks[0].event != "datastar-patch-elements" || blocks[0].id != id ||
			blocks[0].joined("elements") != want || blocks[0].joined("selector") != selector {
			t.Fatalf("AppendPatchElements(%q, %+v) is heard as %+q", text, o, blocks)
		}
		b, err = AppendScript(nil, text, ScriptOptions{})
		if err != nil {
			t.Fatalf("AppendScript(%q): %v", text, err)
		}
		element := strings.ToLower(parse(string(b))[0].joined("elements"))
		if strings.Count(element, "</script") != 1 || len(parse(string(b))) != 1 {
			t.Fatalf("AppendScript(%q) = %q", text, element)
		}
	})
}

func TestAppendAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 64<<10)
	page := []byte(strings.Repeat("<p>line of a page</p>\n", 400))
	o := ElementsOptions{Selector: "#list", Mode: Inner, Common: Common{ID: "123456789"}}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := AppendPatchElements(buf, page, o); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("AppendPatchElements allocates %v times; want 0", n)
	}
	object := []byte(`{"count":1}`)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := AppendPatchSignals(buf, object, SignalsOptions{}); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("AppendPatchSignals allocates %v times; want 0", n)
	}
}

func BenchmarkPatchElements(b *testing.B) {
	page := []byte(strings.Repeat("<p>one of four hundred and thirty lines</p>\n", 430))
	buf := make([]byte, 0, 64<<10)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := AppendPatchElements(buf, page, ElementsOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// SPDX-License-Identifier: MIT

package datastar

import (
	"encoding/json"
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
		{"", ElementsOptions{Selector: "#a", Mode: Remove},
			"data: selector #a\ndata: mode remove\n"},
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
		{"x", ElementsOptions{Common: Common{ID: "event 1~"}}, "id: event 1~\ndata: elements x\n"},
	} {
		want := "=event: datastar-patch-elements\n" + c.want + "\n"
		got, err := AppendPatchElements([]byte("="), []byte(c.html), c.o)
		if string(got) != want || err != nil {
			t.Errorf("AppendPatchElements(%q, %+v) = %q, %v; want %q", c.html, c.o, got, err, want)
		}
	}
}

func TestExecuteScript(t *testing.T) {
	for _, c := range []struct {
		o    ScriptOptions
		want string
	}{
		{ScriptOptions{}, `<script data-effect="el.remove()">f()</script>`},
		{ScriptOptions{Keep: true}, `<script>f()</script>`},
		{ScriptOptions{Keep: true, Attributes: []Attribute{{"type", "module"}, {"async", ""}}},
			`<script type="module" async>f()</script>`},
	} {
		want := "event: datastar-patch-elements\ndata: selector body\ndata: mode append\n" +
			"data: elements " + c.want + "\n\n"
		if got, err := AppendExecuteScript(nil, "f()", c.o); string(got) != want || err != nil {
			t.Errorf("AppendExecuteScript(f(), %+v) = %q, %v, want %q", c.o, got, err, want)
		}
	}
}

func TestErrorsAppendNothing(t *testing.T) {
	type call func(dst []byte) ([]byte, error)
	elements := func(o ElementsOptions) call {
		return func(dst []byte) ([]byte, error) { return AppendPatchElements(dst, []byte("x"), o) }
	}
	signals := func(c Common) call {
		return func(dst []byte) ([]byte, error) {
			return AppendPatchSignals(dst, nil, SignalsOptions{Common: c})
		}
	}
	script := func(a ...Attribute) call {
		return func(dst []byte) ([]byte, error) {
			return AppendExecuteScript(dst, "x", ScriptOptions{Attributes: a})
		}
	}
	redirect := func(url string) call {
		return func(dst []byte) ([]byte, error) { return AppendRedirect(dst, url, ScriptOptions{}) }
	}
	removeSignals := func(path string) call {
		return func(dst []byte) ([]byte, error) {
			return AppendRemoveSignals(dst, SignalsOptions{}, "fine", path)
		}
	}
	for name, c := range map[string]struct {
		call call
		want error
	}{
		"id":                {elements(ElementsOptions{Common: Common{ID: "a\nb"}}), ErrID},
		"id with CR":        {signals(Common{ID: "a\rb"}), ErrID},
		"id beyond ASCII":   {signals(Common{ID: "日"}), ErrID},
		"id with NUL":       {signals(Common{ID: "\x00"}), ErrID},
		"retry below zero":  {signals(Common{Retry: -1}), ErrRetry},
		"retry of two days": {signals(Common{Retry: 48 * time.Hour}), ErrRetry},
		"selector":          {elements(ElementsOptions{Selector: "a\rb"}), ErrLine},
		"view transition":   {elements(ElementsOptions{ViewTransitionSelector: "a\n"}), ErrLine},
		"no selector":       {elements(ElementsOptions{Mode: Inner}), ErrSelector},
		"mode":              {elements(ElementsOptions{Mode: 99}), ErrOption},
		"namespace":         {elements(ElementsOptions{Namespace: 99}), ErrOption},
		"attribute name":    {script(Attribute{"a b", ""}), ErrAttribute},
		"attribute value":   {script(Attribute{"a", "b\nc"}), ErrLine},
		"no attribute":      {script(Attribute{"", "x"}), ErrAttribute},
		"attribute breaks":  {script(Attribute{"a>", "x"}), ErrAttribute},
		"javascript":        {redirect("javascript:alert(1)"), ErrURL},
		"hidden javascript": {redirect(" java\n\tscript:alert(1)"), ErrURL},
		"data":              {redirect("DATA:text/html,x"), ErrURL},
		"empty name":        {removeSignals("a..b"), ErrSignal},
		"no name":           {removeSignals(""), ErrSignal},
		"remove nothing": {func(dst []byte) ([]byte, error) {
			return AppendRemoveElements(dst, "", ElementsOptions{})
		}, ErrSelector},
		"detail": {func(dst []byte) ([]byte, error) {
			return AppendDispatch(dst, "x", "", []byte("{"), ScriptOptions{})
		}, ErrDetail},
	} {
		got, err := c.call([]byte("="))
		if !errors.Is(err, c.want) || string(got) != "=" {
			t.Errorf("%s: got %q, %v; want nothing appended and %v", name, got, err, c.want)
		}
	}
}

// hostile is text that tries to leave where it stands.
var hostile = []string{
	"</script><b>", "</SCRIPT >", "x</script\tfoo>", "<!--<script>", "\u2028x\u2029",
	"it's \"q\" \\ `${x}`", "a\nb\r\nc\rd", "\x00\a\U0010ffff", "\n\nevent: x\ndata: y",
	"]]>", "&quot;",
}

// checkOneScript reads the event as a client and its element as an HTML parser
// would: it has to be one script element, and nothing else.
func checkOneScript(t *testing.T, event []byte) (text string) {
	t.Helper()
	blocks := parse(string(event))
	if len(blocks) != 1 {
		t.Fatalf("heard as %d events: %q", len(blocks), event)
	}
	element := blocks[0].joined("elements")
	head, rest, ok := strings.Cut(element, ">")
	end := endOfScript(rest)
	if !ok || !strings.HasPrefix(head, "<script") || rest[end:] != "</script>" {
		t.Fatalf("not one script element: %q", element)
	}
	return rest[:end]
}

// endOfScript is where the HTML parser leaves the element's text (WHATWG HTML,
// 13.2.5.4 and 13.2.5.17): at an end tag, unless it is in the escaped state.
func endOfScript(text string) int {
	const tag = "</script"
	for i := range text {
		if strings.HasPrefix(text[i:], "<!--") {
			return len(text) // from here on other rules hold: refuse it
		}
		after := text[min(i+len(tag), len(text)):]
		if strings.EqualFold(text[i:len(text)-len(after)], tag) &&
			(after == "" || strings.ContainsAny(after[:1], "\t\n\f\r />")) {
			return i
		}
	}
	return len(text)
}

func TestScriptCannotBreakOut(t *testing.T) {
	o := ScriptOptions{}
	for _, h := range hostile {
		for name, call := range map[string]func() ([]byte, error){
			"ConsoleLog":   func() ([]byte, error) { return AppendConsoleLog(nil, h, o) },
			"ConsoleError": func() ([]byte, error) { return AppendConsoleError(nil, h, o) },
			"Redirect":     func() ([]byte, error) { return AppendRedirect(nil, "/"+h, o) },
			"ReplaceURL":   func() ([]byte, error) { return AppendReplaceURL(nil, h, o) },
			"Dispatch": func() ([]byte, error) {
				detail, _ := json.Marshal(h)
				return AppendDispatch(nil, h, h, detail, o)
			},
			"ExecuteScript": func() ([]byte, error) { return AppendExecuteScript(nil, h, o) },
		} {
			t.Run(name, func(t *testing.T) {
				event, err := call()
				if err != nil {
					t.Fatalf("%s(%q): %v", name, h, err)
				}
				checkOneScript(t, event)
			})
		}
	}
}

// TestStringsSurvive: the literal in the script is the string that went in.
func TestStringsSurvive(t *testing.T) {
	for _, h := range hostile {
		event, err := AppendConsoleLog(nil, h, ScriptOptions{})
		if err != nil {
			t.Fatal(err)
		}
		literal := strings.TrimPrefix(checkOneScript(t, event), "console.log(")
		literal = strings.TrimSuffix(literal, ")")
		var got string
		if err := json.Unmarshal([]byte(literal), &got); err != nil || got != h {
			t.Errorf("ConsoleLog(%q) logs %s (%v)", h, literal, err)
		}
	}
}

func TestProgramsStayPrograms(t *testing.T) {
	const program = "for (i=0;i<scripts.length;i++) if (a<b && '</div>') f('<script>')"
	event, err := AppendExecuteScript(nil, program, ScriptOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := checkOneScript(t, event); got != program {
		t.Errorf("AppendExecuteScript changed the program:\n%s\nwant:\n%s", got, program)
	}
}

func TestRedirectAddresses(t *testing.T) {
	for _, url := range []string{
		"/a", "a/b:c", "?x=javascript:", "#a:b", "//host/x", "https://h/", "HTTP://h",
	} {
		if _, err := AppendRedirect(nil, url, ScriptOptions{}); err != nil {
			t.Errorf("AppendRedirect(%q): %v", url, err)
		}
	}
}

func TestRemoveSignals(t *testing.T) {
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{nil, `{}`},
		{[]string{"one"}, `{"one":null}`},
		{[]string{"user.name", "user.age", "b"}, `{"b":null,"user":{"age":null,"name":null}}`},
		{[]string{"a.b", "a"}, `{"a":null}`},
		{[]string{"a", "a.b"}, `{"a":null}`},
		{[]string{`q"\n`}, `{"q\"\\n":null}`},
	} {
		event, err := AppendRemoveSignals(nil, SignalsOptions{}, c.paths...)
		if err != nil {
			t.Errorf("AppendRemoveSignals(%q): %v", c.paths, err)
			continue
		}
		if got := parse(string(event))[0].joined("signals"); got != c.want {
			t.Errorf("AppendRemoveSignals(%q) sends %s, want %s", c.paths, got, c.want)
		}
	}
}

func TestAttributeValuesStayValues(t *testing.T) {
	const value = `"><img src=x onerror=1>&amp;`
	o := ScriptOptions{Attributes: []Attribute{{"title", value}}}
	b, err := AppendExecuteScript(nil, "x", o)
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

// heard is text as the client puts it together again.
func heard(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// FuzzElements: whatever goes in, one event is heard, with exactly what was sent.
func FuzzElements(f *testing.F) {
	f.Add("<p>a\r\n\r\nevent: x\rid: 9\n</p>", "#a", "1")
	f.Add("\n", "a b > c", "")
	f.Add("data: elements x", "\n", "\r")
	f.Fuzz(func(t *testing.T, text, selector, id string) {
		o := ElementsOptions{Common: Common{ID: id}, Selector: selector, Mode: Replace}
		event, err := AppendPatchElements(nil, []byte(text), o)
		if err != nil {
			if isLine(selector) && !errors.Is(err, ErrID) {
				t.Fatalf("AppendPatchElements(%q, %+v): %v", text, o, err)
			}
			return
		}
		blocks := parse(string(event))
		if len(blocks) != 1 || blocks[0].event != "datastar-patch-elements" || blocks[0].id != id ||
			blocks[0].joined("elements") != heard(text) ||
			blocks[0].joined("selector") != selector {
			t.Fatalf("AppendPatchElements(%q, %+v) is heard as %+q", text, o, blocks)
		}
	})
}

// FuzzSignals: the same for signals.
func FuzzSignals(f *testing.F) {
	f.Add("{\r\n\"a\":1}", "x")
	f.Fuzz(func(t *testing.T, text, id string) {
		o := SignalsOptions{Common: Common{ID: id}, OnlyIfMissing: true}
		event, err := AppendPatchSignals(nil, []byte(text), o)
		if err != nil {
			return
		}
		blocks := parse(string(event))
		if len(blocks) != 1 || text != "" && blocks[0].joined("signals") != heard(text) {
			t.Fatalf("AppendPatchSignals(%q, %q) is heard as %+q", text, id, blocks)
		}
	})
}

// FuzzScript: a program, an attribute and a string stay where they stand.
func FuzzScript(f *testing.F) {
	for _, h := range hostile {
		f.Add(h, h)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		o := ScriptOptions{Attributes: []Attribute{{"title", value}}}
		if event, err := AppendExecuteScript(nil, text, o); err == nil {
			checkOneScript(t, event)
		}
		event, err := AppendConsoleLog(nil, text, ScriptOptions{})
		if err != nil {
			t.Fatalf("AppendConsoleLog(%q): %v", text, err)
		}
		checkOneScript(t, event)
	})
}

// TestPieces: text that arrives in pieces becomes the same lines.
func TestPieces(t *testing.T) {
	more := []string{"\r\n\r\n", "a\r", "\r\n", "a\n\rb\r\r\nc", ""}
	for _, text := range append(more, hostile...) {
		whole := lines{key: "k "}
		whole.writeString(text)
		want := string(whole.finish())
		for cut := range len(text) + 1 {
			l := lines{key: "k "}
			l.writeString(text[:cut])
			l.writeString("")
			if n, err := l.WriteString(text[cut:]); n != len(text)-cut || err != nil {
				t.Errorf("WriteString = %d, %v, want %d", n, err, len(text)-cut)
			}
			if got := string(l.finish()); got != want {
				t.Errorf("%q cut at %d = %q, want %q", text, cut, got, want)
			}
		}
	}
}

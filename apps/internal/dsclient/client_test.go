// SPDX-License-Identifier: MIT

//go:build unix

package dsclient

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"m0serve.dev/apps/internal/browser"
	"m0serve.dev/datastar"
	"m0serve.dev/datastar/attr"
	"m0serve.dev/datastar/lint"
)

// site serves the client, one page and what its actions ask for.
type site struct {
	*httptest.Server
	mu   sync.Mutex
	body string
}

func serve(t *testing.T) *site {
	t.Helper()
	script, err := os.ReadFile(browser.DatastarFile(t))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(script), "\n")
	t.Log("client: ", line)
	s := &site{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /client.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(script)
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><meta charset=utf-8><script type=module src=/client.js></script>"+
			"<body>%s</b>\n<b id=behind data-text=\"'alive'\"></b>", s.body)
	})
	mux.HandleFunc("GET /elements", func(w http.ResponseWriter, _ *http.Request) {
		_ = datastar.AnswerElements(w, []byte("<i>new</i>"),
			datastar.ElementsOptions{Selector: `#größe[title="ü\ü"]`, Mode: datastar.Append})
	})
	mux.HandleFunc("GET /noid", func(w http.ResponseWriter, _ *http.Request) {
		_ = datastar.AnswerElements(w, []byte("<b>lost</b><b id=got>got</b>"), datastar.ElementsOptions{})
	})
	mux.HandleFunc("POST /signals", func(w http.ResponseWriter, _ *http.Request) {
		_ = datastar.AnswerSignals(w, map[string]any{"a": "@in('", "fresh": 1},
			datastar.SignalsOptions{OnlyIfMissing: true})
	})
	mux.HandleFunc("GET /script", func(w http.ResponseWriter, _ *http.Request) {
		_ = datastar.AnswerScript(w, "window.ran = document.currentScript.dataset.word",
			datastar.Attribute{Name: "data-word", Value: "ü😀\""})
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// show puts elements into a page and the page into the tab, until the client has been there.
func (s *site) show(t *testing.T, tab *browser.Tab, body string) {
	t.Helper()
	s.mu.Lock()
	s.body = body
	s.mu.Unlock()
	tab.Go(t, s.URL)
	tab.Until(t, "document.readyState === 'complete'")
}

// silent are pages with one fault, and what is true of them in the browser; click is what a user
// does first. Each page ends with an element that shows whether the client got that far.
var silent = []struct{ rule, body, click, truth string }{
	{"dash", `<b id=n data-signals="{n: 0}" data-text="$n"></b><b id=x data-on-click="$n = 5">`,
		"x", "n.textContent === '0'"},
	{"dash", `<b data-signals="{draft: 'a'}"></b><input id=x data-bind-draft>`,
		"", "x.value === ''"},
	{"dash", `<b id=x data-class-on="true">`, "", "x.className === ''"},
	{"dot", `<b id=n data-signals="{n: 0}" data-text="$n"></b><b id=x data-on:click.once="$n = 5">`,
		"x", "n.textContent === '0'"},
	{"former", `<b id=n data-signals="{n: 0}" data-text="$n"></b><b data-on-load="$n = 5">`,
		"", "n.textContent === '0'"},
	{"case", `<input value=a data-bind:fooBar><b id=n data-json-signals__terse>`,
		"", `n.textContent === '{"foobar":"a"}'`},
	{"modifier", `<input value=a data-bind:foo__bar><b id=n data-json-signals__terse>`,
		"", `n.textContent === '{"foo":"a"}'`},
	{"dollar", `<input value=a data-bind="$draft"><b id=n data-json-signals__terse>`,
		"", `n.textContent === '{"$draft":"a"}'`},
	{"minus", `<b data-signals="{count: 5}"></b><b id=n data-text="$count-1">`,
		"", "n.textContent === ''"},
	{"signal", `<b data-signals="{fooBar: 5}"></b><b id=n data-text="$foobar">`,
		"", "n.textContent === ''"},
	{"function", `<b id=n data-signals="{n: 0}" data-text="$n"></b>` +
		`<b id=x data-on:click="() => $n = 5">`,
		"x", "n.textContent === '0'"},
	{"load", `<b id=n data-signals="{n: 0}" data-text="$n"></b><b data-on:load="$n = 5">`,
		"", "n.textContent === '0'"},
	{"action", `<b id=x data-on:click="delete('/elements')">`,
		"x", "!performance.getEntriesByName(location.href + 'elements').length"},
	{"argument", `<b id=n data-signals="{n: 0}" data-text="$n"></b>` +
		`<b id=x data-on:click__debounce.leading.900s="$n = 5">`,
		"x", "n.textContent === '5'"}, // at once: the time is not read
	{"twice", `<b id=n data-text="1" data-text="2">`, "", "n.textContent === '1'"},
}

// dead are pages with one fault that stops the client before the last element.
var dead = []struct{ rule, body string }{
	{"need", `<b data-text:n="1">`},
	{"need", `<b data-show>`},
	{"need", `<b data-on="1">`},
	{"need", `<input data-bind:a="b">`},
	{"braces", `<b data-class="on: 1">`},
	{"broken", `<b data-text="f('">`},
	{"escaped", `<b data-text="&amp;quot;a&amp;quot;">`},
}

// TestLintIsRight: the linter finds the one fault of each page, and the browser shows what it says.
func TestLintIsRight(t *testing.T) {
	if testing.Short() {
		t.Skip("a smoke: it runs a browser")
	}
	s := serve(t)
	tab := browser.Start(t).Open(t, "about:blank")
	for _, x := range silent {
		wantRule(t, x.body, x.rule)
		s.show(t, tab, x.body)
		tab.Until(t, "document.getElementById('behind')?.textContent === 'alive'")
		if x.click != "" {
			browser.Eval[bool](t, tab, "document.getElementById('"+x.click+"').click() ?? true")
		}
		if !browser.Eval[bool](t, tab, x.truth) {
			t.Errorf("%s: not %s in the browser; the page shows %s", x.body, x.truth,
				browser.Eval[string](t, tab, "document.body.innerHTML"))
		}
	}
	for _, x := range dead {
		wantRule(t, x.body, x.rule)
		s.show(t, tab, `<b id=before data-text="'alive'"></b>`+x.body)
		tab.Until(t, "window.before?.textContent === 'alive'")
		if got := browser.Eval[string](t, tab, "behind.textContent"); got != "" {
			t.Errorf("%s: the element behind it shows %q, want nothing", x.body, got)
		}
	}
}

func wantRule(t *testing.T, body, rule string) {
	t.Helper()
	found := lint.Check([]byte(body), lint.Options{})
	if len(found) != 1 || found[0].Rule != rule {
		t.Errorf("lint of %s: %v, want one %q", body, found, rule)
	}
}

// hostile are texts that an expression must carry unchanged.
var hostile = []string{
	"plain", "it's \"quoted\" `twice`", `back\slash\`, "two\nlines\r\n", "</b><script>ran=1</script>",
	"@in(1) @get('/x') @x(", "$a $a.b ${a}", "a; b; /c/ ; d", "🖕JS_DS🚀 \u2028 ü", "&amp; &#39; &lt;",
	"__escaped0 return (x)", "' + alert(1) + '", "{}[]()", "//", "/* x",
}

// TestAttributesWork: each builder in the client.
func TestAttributesWork(t *testing.T) {
	if testing.Short() {
		t.Skip("a smoke: it runs a browser")
	}
	s := serve(t)
	tab := browser.Start(t).Open(t, "about:blank")

	var page strings.Builder
	for i, text := range hostile {
		fmt.Fprintf(&page, "<b id=s%d %s></b><b id=j%d %s></b>", i, attr.Text(attr.Str(text)), i,
			attr.Text(attr.JSON(map[string]string{"v": text})+".v"))
	}
	fmt.Fprintf(&page, "<b %s></b><b id=h %s></b>", attr.Signals(map[string]any{"h": hostile}, false),
		attr.Text("JSON.stringify($h)"))
	s.show(t, tab, page.String())
	tab.Until(t, "window.behind?.textContent === 'alive'")
	for i, text := range hostile {
		for _, id := range []string{"s", "j"} {
			got := browser.Eval[string](t, tab, fmt.Sprintf("%s%d.textContent", id, i))
			if got != text {
				t.Errorf("a text in an expression (%s): %q arrives as %q", id, text, got)
			}
		}
	}
	var back []string
	err := json.Unmarshal([]byte(browser.Eval[string](t, tab, "h.textContent")), &back)
	if err != nil || strings.Join(back, "|") != strings.Join(hostile, "|") {
		t.Errorf("the signals arrive as %q, %v", back, err)
	}
	// Why Str is not JSON: the client rewrites what looks like an action, also in a string.
	other := string(datastar.AppendJSString(nil, "@x("))
	s.show(t, tab, `<b id=o data-text="`+html.EscapeString(other)+`">`)
	tab.Until(t, "document.readyState === 'complete' && window.behind")
	if got := browser.Eval[string](t, tab, "o.textContent"); got == "@x(" {
		t.Error("a JSON string with @x( arrives: attr.Str escapes more than it needs to")
	}
	s.builders(t, tab)
	s.answers(t, tab)
}

// builders has those that do something on one page.
func (s *site) builders(t *testing.T, tab *browser.Tab) {
	t.Helper()
	part := func(tag, id string, list ...attr.Attribute) string {
		return fmt.Sprintf("<%s id=%s %s></%s>", tag, id, attr.List(list), tag)
	}
	s.show(t, tab, strings.Join([]string{
		part("i", "i1", attr.Signal("fooBar", "1", false), attr.Signal("foo-baz", "2", false),
			attr.Signal("a__b", "3", false), attr.Computed("sumUp", "$fooBar + 1"),
			attr.Computed("c__d", "$fooBar + 2"), attr.Init("$inited = true", 0)),
		part("i", "all", attr.Text("[$fooBar, $foo-baz, $a__b, $sumUp, $c__d, $inited].join()")),
		part("input", "field", attr.Bind("boundTo", attr.BindOptions{}), attr.Ref("fieldRef")),
		part("i", "bound", attr.Text("$boundTo + $fieldRef?.id")),
		part("i", "look", attr.Class("isOn", "true"), attr.Class("md:hover", "true"),
			attr.Style("color", "'red'"), attr.Attr("aria-busy", "'yes'"), attr.Show("false")),
		part("i", "look2", attr.Class("block__part", "true"), attr.Style("backgroundColor", "'red'")),
		part("i", "ev", attr.On("myEvent", "$heard = evt.detail", attr.OnOptions{Window: true})),
		part("i", "heard", attr.Text("$heard")),
		part("i", "deb", attr.On("click", "$clicks = ($clicks || 0) + 1",
			attr.OnOptions{Timing: attr.Timing{Debounce: 50 * time.Millisecond}})),
		part("i", "clicks", attr.Text("$clicks")),
		part("i", "tick", attr.OnInterval(20*time.Millisecond, true, "$ticks = ($ticks || 0) + 1")),
		part("i", "seen", attr.OnIntersect("$seen = true", attr.IntersectOptions{Once: true})),
		part("i", "seen2", attr.Text("$seen")),
		part("i", "patched", attr.OnSignalPatch("$got = Object.keys(patch).join()", attr.Timing{}),
			attr.OnSignalPatchFilter("^boundTo$", "")),
		part("i", "got", attr.Text("$got")),
		part("i", "json", attr.JSONSignals("^sumUp$", "", true)),
		part("i", "ign", attr.Ignore(true), attr.Text("'no'")),
		part("button", "ask", attr.Indicator("busy"), attr.On("click", attr.Get("/elements",
			attr.Request{Retry: attr.RetryNever, Hidden: attr.Yes, Include: "^fooBar$"}),
			attr.OnOptions{})),
		`<i id="größe" title="üü"></i>`,
	}, "\n"))
	tab.Until(t, "window.behind?.textContent === 'alive'")
	tab.Until(t, "document.getElementById('all').textContent === '1,2,3,2,3,true'")
	tab.Type(t, "#field", "x")
	tab.Until(t, "bound.textContent === 'xfield' && got.textContent === 'boundTo'")
	tab.Until(t, "look.className === 'isOn md:hover' && look.style.color === 'red'")
	tab.Until(t, "look.getAttribute('aria-busy') === 'yes' && look.style.display === 'none'")
	tab.Until(t, "look2.className === 'block__part' && look2.style.backgroundColor === 'red'")
	browser.Eval[bool](t, tab, "window.dispatchEvent(new CustomEvent('myEvent', {detail: 'yes'}))")
	tab.Until(t, "heard.textContent === 'yes'")
	browser.Eval[bool](t, tab, "deb.click() ?? deb.click() ?? deb.click() ?? true")
	tab.Until(t, "clicks.textContent === '1' && seen2.textContent === 'true'")
	tab.Until(t, `json.textContent === '{"sumUp":2}' && ign.textContent === ''`)
	tab.Click(t, "#ask")
	tab.Until(t, "document.getElementById('größe').innerHTML === '<i>new</i>'")
	tab.Until(t, "performance.getEntriesByType('resource').some(e => "+
		"decodeURIComponent(e.name).endsWith('/elements?datastar={\"fooBar\":1}'))")
}

// answers has the three kinds of an answer in one piece.
func (s *site) answers(t *testing.T, tab *browser.Tab) {
	t.Helper()
	s.show(t, tab, `<b data-signals="{a: 'mine'}"></b><b id=a data-json-signals__terse></b>
		<b id=got></b><b id=x data-on:click="@post('/signals')"></b>
		<b id=y data-on:click="@get('/script')"></b>
		<b id=z data-on:click="@get('/noid')"></b>`)
	tab.Until(t, "window.behind?.textContent === 'alive'")
	browser.Eval[bool](t, tab, "x.click() ?? y.click() ?? z.click() ?? true")
	tab.Until(t, `a.textContent === '{"a":"mine","fresh":1}'`)
	tab.Until(t, `window.ran === 'ü😀"'`)
	tab.Until(t, "got.textContent === 'got' && !document.body.textContent.includes('lost')")
}

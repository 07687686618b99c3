// SPDX-License-Identifier: MIT

package attr_test

import (
	"encoding/json"
	"html"
	"html/template"
	"strings"
	"testing"
	"time"

	"m0serve.dev/datastar/attr"
	"m0serve.dev/datastar/lint"
)

const half = 500 * time.Millisecond

// all is every builder, with what it has to write.
var all = []struct {
	got  attr.Attribute
	want string
}{
	{attr.On("click", "$n++", attr.OnOptions{}), `data-on:click="$n++"`},
	{attr.On("submit", attr.Post("/todos", attr.Request{}), attr.OnOptions{Prevent: true}),
		`data-on:submit__prevent="@post(&#39;/todos&#39;)"`},
	{attr.On("myEvent", "a < b && c", attr.OnOptions{Window: true, Once: true}),
		`data-on:my-event__case.camel__window__once="a &lt; b &amp;&amp; c"`},
	{attr.On("input", "x", attr.OnOptions{
		Document: true, Outside: true, Stop: true, Capture: true, Passive: true,
		Timing: attr.Timing{Delay: 2 * time.Second, Debounce: half, Leading: true, NoTrailing: true,
			Throttle: time.Second, NoLeading: true, Trailing: true, ViewTransition: true},
	}), `data-on:input__document__outside__stop__capture__passive__delay.2s` +
		`__debounce.500ms.leading.notrailing__throttle.1s.noleading.trailing__viewtransition="x"`},
	{attr.Init("@get('/x')", 0), `data-init="@get(&#39;/x&#39;)"`},
	{attr.Init("$a = 1", 1500*time.Microsecond), `data-init__delay.2ms="$a = 1"`},
	{attr.Effect("$b = $a"), `data-effect="$b = $a"`},
	{attr.OnInterval(2*time.Second, true, "$n++"), `data-on-interval__duration.2s.leading="$n++"`},
	{attr.OnIntersect("$n++", attr.IntersectOptions{Once: true, Exit: true, Threshold: 25}),
		`data-on-intersect__once__exit__threshold.25="$n++"`},
	{attr.OnIntersect("$n++", attr.IntersectOptions{Half: true, Timing: attr.Timing{Delay: half}}),
		`data-on-intersect__half__delay.500ms="$n++"`},
	{attr.OnIntersect("$n++", attr.IntersectOptions{Full: true}), `data-on-intersect__full="$n++"`},
	{attr.OnSignalPatch("f(patch)", attr.Timing{Debounce: half}),
		`data-on-signal-patch__debounce.500ms="f(patch)"`},
	{attr.OnSignalPatchFilter("^a", ""),
		`data-on-signal-patch-filter="{&#34;include&#34;:&#34;^a&#34;}"`},
	{attr.Signals(map[string]any{"n": 1, "who": "it's"}, true),
		`data-signals__ifmissing="{&#34;n&#34;:1,&#34;who&#34;:&#34;it\u0027s&#34;}"`},
	{attr.Signal("fooBar", "1", true), `data-signals:foo-bar__ifmissing="1"`},
	{attr.Signal("foo-bar", "1", false), `data-signals:foo-bar__case.kebab="1"`},
	{attr.Signal("a__b", "1", false), `data-signals="{&#39;a__b&#39;: (1)}"`},
	{attr.Computed("total", "$a + $b"), `data-computed:total="$a + $b"`},
	{attr.Computed("a__b", "$a"), `data-computed="{&#39;a__b&#39;: () =&gt; ($a)}"`},
	{attr.Bind("fooBar", attr.BindOptions{}), `data-bind="fooBar"`},
	{attr.Bind("on", attr.BindOptions{Prop: "indeterminate", Events: []string{"a", "b"}}),
		`data-bind__prop.indeterminate__event.a.b="on"`},
	{attr.Indicator("busy"), `data-indicator="busy"`},
	{attr.Ref("field"), `data-ref="field"`},
	{attr.Text("$n"), `data-text="$n"`},
	{attr.Show("$n > 1"), `data-show="$n &gt; 1"`},
	{attr.Class("on", "$live"), `data-class:on="$live"`},
	{attr.Class("md:hover", "$x"), `data-class:md:hover="$x"`},
	{attr.Class("isOn", "$x"), `data-class:is-on__case.camel="$x"`},
	{attr.Class("block__part", "$x"), `data-class="{&#39;block__part&#39;: ($x)}"`},
	{attr.Style("background-color", "$c"), `data-style:background-color="$c"`},
	{attr.Style("backgroundColor", "$c"), `data-style="{&#39;backgroundColor&#39;: ($c)}"`},
	{attr.Attr("aria-busy", "$b"), `data-attr:aria-busy="$b"`},
	{attr.Attr("viewBox", "$b"), `data-attr="{&#39;viewBox&#39;: ($b)}"`},
	{attr.JSONSignals("", "", true), `data-json-signals__terse`},
	{attr.JSONSignals("", "^_", false), `data-json-signals="{&#34;exclude&#34;:&#34;^_&#34;}"`},
	{attr.Ignore(false), `data-ignore`},
	{attr.Ignore(true), `data-ignore__self`},
	{attr.IgnoreMorph(), `data-ignore-morph`},
	{attr.PreserveAttr("open", "class"), `data-preserve-attr="open class"`},
}

// TestAttributes has each as text, and the linter finds nothing in it.
func TestAttributes(t *testing.T) {
	for _, x := range all {
		if got := x.got.String(); got != x.want {
			t.Errorf("got  %s\nwant %s", got, x.want)
		}
		if found := lint.Check([]byte("<b "+x.want+">"), lint.Options{}); len(found) > 0 {
			t.Errorf("lint of %s: %v", x.want, found)
		}
	}
}

func TestActions(t *testing.T) {
	for _, x := range []struct{ got, want string }{
		{attr.Get("/a?b=c&d='e'", attr.Request{}), `@get('/a?b=c\u0026d=\u0027e\u0027')`},
		{attr.Put("/x", attr.Request{Form: true, Selector: "#f"}),
			`@put('/x', {contentType: 'form', selector: '#f'})`},
		{attr.Patch("/x", attr.Request{Headers: map[string]string{"X-B": "2", "X-A": "1"}}),
			`@patch('/x', {headers: {'X-A': '1', 'X-B': '2'}})`},
		{attr.Delete("/x", attr.Request{Include: `^user\.`, Exclude: "secret"}),
			`@delete('/x', {filterSignals: {include: '^user\u005c.', exclude: 'secret'}})`},
		{attr.Query("/x", attr.Request{Payload: "{a: $a}"}), `@query('/x', {payload: ({a: $a})})`},
		{attr.Get("/s", attr.Request{
			Hidden: attr.Yes, Cancellation: "disabled", Retry: attr.RetryAlways,
			Interval: half, Scaler: 1.5, MaxWait: 4 * time.Second, MaxCount: 1000000,
		}), `@get('/s', {openWhenHidden: true, requestCancellation: 'disabled', retry: 'always', ` +
			`retryInterval: 500, retryScaler: 1.5, retryMaxWait: 4000, retryMaxCount: 1000000})`},
		{attr.Get("/s", attr.Request{Hidden: attr.No}), `@get('/s', {openWhenHidden: false})`},
		{attr.Send("post", "'/todo/' + $id", attr.Request{}), `@post('/todo/' + $id)`},
		{attr.Peek("$n + 1"), `@peek(() => $n + 1)`},
		{attr.SetAll("true", "^a", ""), `@setAll(true, {include: '^a'})`},
		{attr.ToggleAll("", ""), `@toggleAll({})`},
	} {
		if x.got != x.want {
			t.Errorf("got  %s\nwant %s", x.got, x.want)
		}
	}
}

// TestTemplates: html/template writes an attribute as it is, and templ's map has it unescaped.
func TestTemplates(t *testing.T) {
	l := attr.List{attr.On("click", `$a = "<" + 'x'`, attr.OnOptions{}), attr.Ignore(false)}
	var b strings.Builder
	page := template.Must(template.New("").Parse(`<b {{.HTMLAttr}}><i {{(index . 0).HTMLAttr}}>`))
	if err := page.Execute(&b, l); err != nil {
		t.Fatal(err)
	}
	const click = `data-on:click="$a = &#34;&lt;&#34; + &#39;x&#39;"`
	if got, want := b.String(), "<b "+click+" data-ignore><i "+click+">"; got != want {
		t.Errorf("html/template wrote\n%s\nwant\n%s", got, want)
	}
	m := l.Map()
	if m["data-on:click"] != `$a = "<" + 'x'` || m["data-ignore"] != true || len(m) != 2 {
		t.Errorf("Map: %v", m)
	}
	if m := l[1].Map(); m["data-ignore"] != true {
		t.Errorf("Map of one: %v", m)
	}
}

// TestPanics are mistakes of the programmer.
func TestPanics(t *testing.T) {
	for what, call := range map[string]func(){
		"an event with two underscores": func() { attr.On("a__b", "x", attr.OnOptions{}) },
		"an event with a blank":         func() { attr.On("a b", "x", attr.OnOptions{}) },
		"a custom property in capitals": func() { attr.Style("--myVar", "x") },
		"a value without JSON":          func() { attr.JSON(func() {}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			call()
		}()
	}
}

// jsString reads a literal in single quotes, as JavaScript does.
func jsString(t *testing.T, literal string) string {
	t.Helper()
	text := literal[1 : len(literal)-1]
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			b.WriteByte(text[i])
			i++
			continue
		}
		// \n, \uXXXX and \u{X…} as JSON has them
		code := text[i : i+2]
		if text[i+1] == 'u' {
			code = text[i : i+6]
			if text[i+2] == '{' {
				end := i + strings.IndexByte(text[i:], '}')
				b.WriteString(html.UnescapeString("&#x" + text[i+3:end] + ";"))
				i = end + 1
				continue
			}
		}
		var s string
		if err := json.Unmarshal([]byte(`"`+code+`"`), &s); err != nil {
			t.Fatalf("%s in %s: %v", code, literal, err)
		}
		b.WriteString(s)
		i += len(code)
	}
	return b.String()
}

// FuzzStr: the literal is that string, nothing that the client looks for is in it, and in a page it
// comes back from the attribute.
func FuzzStr(f *testing.F) {
	for _, s := range []string{
		"", "it's", `\`, "a\nb\r\u2028", "@in(", "$x", "`${1}`", "</script>", "\x00\xff", "🖕JS_DS🚀",
		"a;b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !json.Valid([]byte(strings.ReplaceAll(attr.JSON(s), `\u0027`, ""))) {
			t.Errorf("JSON(%q) = %s is none", s, attr.JSON(s))
		}
		var back string
		if err := json.Unmarshal([]byte(attr.JSON(s)), &back); err != nil ||
			back != string([]rune(s)) {
			t.Errorf("JSON(%q) = %s reads back as %q, %v", s, attr.JSON(s), back, err)
		}
		literal := attr.Str(s)
		if strings.ContainsAny(literal[1:len(literal)-1], "'\"`$@;&<>\r\n") {
			t.Errorf("Str(%q) = %s holds what the client or HTML looks at", s, literal)
		}
		if got := jsString(t, literal); got != string([]rune(s)) {
			t.Errorf("Str(%q) = %s, which is %q", s, literal, got)
		}
		a := attr.Text(attr.Str(s) + " + " + attr.JSON(s))
		written := strings.TrimSuffix(strings.TrimPrefix(a.String(), `data-text="`), `"`)
		if html.UnescapeString(written) != a.Value || strings.ContainsAny(written, `"<>`) {
			t.Errorf("String of %q: %s", a.Value, written)
		}
	})
}

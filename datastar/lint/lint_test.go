// SPDX-License-Identifier: MIT

package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"m0serve.dev/datastar/lint"
)

// list is the findings, one in a line: place, rule, text.
func list(found []lint.Finding) string {
	lines := make([]string, 0, len(found))
	for _, f := range found {
		lines = append(lines, fmt.Sprintf("%d:%d %s %s", f.Line, f.Column, f.Rule, f.Text))
	}
	return strings.Join(lines, "\n")
}

// wrong is one line of a page, the rules it breaks, and a part of the cure.
var wrong = []struct{ html, rule, cure string }{
	{`<b data-on-click="$n++">`, "dash", "data-on:click"},
	{`<b data-on-click__once="$n++">`, "dash", "data-on:click"},
	{`<input data-bind-draft>`, "dash", "data-bind:draft"},
	{`<b data-class-on="$live">`, "dash", "data-class:on"},
	{`<b data-attr-title="$live">`, "dash", "data-attr:title"},
	{`<b data-signals-foo="1">`, "dash", "data-signals:foo"},
	{`<b data-on-click.prevent="$n++">`, "dash", "data-on:click"},
	{`<b data-show.fast="$n">`, "dot", "data-show__fast"},
	{`<b data-on:click.prevent="$n++">`, "dot", "data-on:click__prevent"},
	{`<b data-on:click_once="$n++">`, "dot", "data-on:click__once"},
	{`<b data-on-load="@get('/x')">`, "former", "data-init"},
	{`<input data-model="draft">`, "former", "data-bind"},
	{`<b data-store="{a: 1}">`, "former", "data-signals"},
	{`<b data-persist>`, "pro", "something else"},
	{`<b data-onn:click="$n++">`, "unknown", "data-on:click"},
	{`<b data-foo:bar="$n">`, "unknown", "no attribute of the client"},
	{`<b data-sginals="{a: 1}">`, "unknown", "data-signals"},
	{`<b data-tetx="$n">`, "unknown", "data-text"},
	{`<b data-indicater="busy">`, "unknown", "data-indicator"},
	{`<b data-on:="$n">`, "unknown", ""},
	{`<b data-text:n="$n">`, "need", "take away :n"},
	{`<b data-on="$n">`, "need", "data-on:name"},
	{`<b data-show>`, "need", "give it one"},
	{`<input data-bind>`, "need", "data-bind="},
	{`<input data-bind:a="b">`, "need", "take one away"},
	{`<input data-bind:fooBar>`, "case", "foo-bar"},
	{`<b data-on:myEvent="$n++">`, "case", "my-event"},
	{`<b data-on:click__prevnt="$n++">`, "modifier", "prevent"},
	{`<b data-signals:foo__bar="1">`, "modifier", ""},
	{`<input data-bind:foo__bar>`, "modifier", `data-bind="foo__bar"`},
	{`<b data-text__once="$n">`, "modifier", "no modifiers"},
	{`<b data-on:input__debounce="$n++">`, "argument", "__debounce.500ms"},
	{`<b data-on:input__debounce.leading.500ms="$n++">`, "argument", "__debounce.500ms"},
	{`<b data-on:input__debounce.500ms.trailing="$n++">`, "argument", "notrailing"},
	{`<b data-init__delay.1.5s="$n++">`, "argument", ""},
	{`<b data-on:click__once.now="$n++">`, "argument", "take it away"},
	{`<b data-class:foo__case.camal="$n">`, "argument", ".camel"},
	{`<b data-on-intersect__threshold.250="$n++">`, "argument", "threshold.25"},
	{`<input data-bind__prop="a">`, "argument", "__prop.name"},
	{`<input data-bind="$draft">`, "dollar", "without the $"},
	{`<b data-on:load="$n++">`, "load", "data-init"},
	{`<b data-on:click="get('/x')">`, "action", "@get("},
	{`<b data-on:click="delete('/x')">`, "action", "@delete("},
	{`<b data-on:click="$get('/x')">`, "former", "@get("},
	{`<b data-on:click="@fetch('/x')">`, "action", "actions are get"},
	{`<b data-on:click="@get ('/x')">`, "action", "@get("},
	{`<b data-on:click="@clipboard('x')">`, "pro", "something else"},
	{`<b data-on:click="$n = 'it">`, "broken", ""},
	{`<b data-on:click="@post('/x'">`, "broken", ""},
	{`<b data-on:click="$n = (1]">`, "broken", ""},
	{"<b data-text=\"`a ${$n`\">", "broken", ""},
	{`<b data-text="/[/]x">`, "broken", ""},
	{`<b data-text="&amp;quot;a&amp;quot;">`, "escaped", "once"},
	{`<b data-class="on: $live">`, "braces", "{on: $live}"},
	{`<b data-signals="draft: ''">`, "braces", "{"},
	{`<b data-on:click="() => $n++">`, "function", "behind the =>"},
	{`<b data-text="$count-1">`, "minus", "blanks around the minus"},
	{`<i data-signals:foo-bar="1"></i><b data-text="$foo-bar">`, "minus", "$fooBar"},
	{`<i data-signals="{fooBar: 1}"></i><b data-text="$foobar">`, "signal", "one way"},
	{`<b data-text="$a" data-text="$b">`, "twice", "join"},
	{`<script src="/datastar.js"></script>`, "module", `type="module"`},
	{`<i id="a"></i><i id="a"></i>`, "id", "its own"},
	{`<i data-init="@get('/s')"></i><i data-init="@get('/s', {retry: 'always'})"></i>`, "stream",
		"address of its own"},
}

func TestFindings(t *testing.T) {
	for _, w := range wrong {
		found := lint.Check([]byte(w.html), lint.Options{})
		if len(found) != 1 || found[0].Rule != w.rule || !strings.Contains(found[0].Cure, w.cure) {
			t.Errorf("Check(%s): %v; want one %q with %q", w.html, found, w.rule, w.cure)
		}
		for _, f := range found {
			if f.Happens == "" || f.Cure == "" || f.Text == "" {
				t.Errorf("Check(%s): %+v says too little", w.html, f)
			}
		}
	}
}

// right is what has to pass.
var right = []string{
	`<b data-on:click__debounce.500ms.leading__prevent="@post('/x', {retry: 'always'})">`,
	`<b data-on:click__delay.500="$n++">`,
	`<input data-bind:foo-bar> <b data-text="$fooBar">`,
	`<input data-bind="foo__bar"> <b data-text="$foo__bar">`,
	`<input data-bind="foo-bar"> <b data-text="$foo-bar">`,
	`<input data-bind:foo-bar__case.kebab__prop.checked__event.a.b> <b data-text="$foo-bar">`,
	`<b data-signals="{a: {b: 1}, 'c': 2}" data-text="$a.b - $c + $a.b-$c">`,
	`<b data-computed:double="$n * 2" data-computed="{triple: () => $n * 3}">`,
	`<b data-class="{on: $live, 'text-lg': !$live}" data-style:color="$c" data-show="$a ? 1 : 2">`,
	`<b data-on:datastar-fetch="evt.detail.el === el &amp;&amp; ($live = false)">`,
	`<b data-on-signal-patch="console.log(patch)" data-on-signal-patch-filter="{include: /a/}">`,
	`<b data-on-interval__duration.2s.leading="$n++" data-on-intersect__half__once="$n++">`,
	`<b data-ignore__self data-ignore-morph data-preserve-attr="open" data-scope-children>`,
	`<b data-json-signals__terse>`,
	`<b data-test="x" data-state="open" data-role="y" data-href="z" data-id="1" data-title="t">`,
	`<b data-show-only="x" data-text-size="3" data-controller="a" data-turbo-frame="f">`,
	"<b data-text=\"`a ${$n ? `b ${$m}` : '}'} c`\">",
	`<b data-text="/['(]/.test($n) ? $a / 2 / $b : ')'">`,
	`<b data-on:click="$map.get('x'); delete $o.x; delete($o.x); cache.delete('x')">`,
	`<img data-on:load="$n++"> <b data-on:load__window="$n++">`,
	`<b data-on:keydown__window="evt.key === 'Enter' &amp;&amp; @setAll(true, {include: 'a'})">`,
	`<!-- <b data-on-click="x"> --><script>"<b data-on-click='x'>"</script><textarea><b data-on-a>`,
	`<script type="module" src="/datastar.js"></script>`,
	`<b data-effect="// a ( comment" data-text="1 /* ' */">`,
	`<b data-attr:data-show-only="$only" data-attr="{title: $t, 'aria-busy': $b}">`,
	`<b data-signals:_private__ifmissing="1" data-indicator:loading data-ref:el2>`,
}

func TestNothingToFind(t *testing.T) {
	for _, page := range right {
		if found := lint.Check([]byte(page), lint.Options{}); len(found) > 0 {
			t.Errorf("Check(%s):\n%v\nwant nothing", page, found)
		}
	}
}

// TestPlaces counts lines and characters, also behind comments, scripts and odd tags.
func TestPlaces(t *testing.T) {
	page := "<!doctype html>\n<!-- \n --><p>ä < b <3 </ > <b\n\tdata-on-click=x\r\n" +
		"  data-text=\"$ü('\">\n<script>\n</scrip </script>\n" +
		"<b title='\n' data-bind-a   data-show = \" 'x\" >"
	want := `4:2 dash data-on-click
5:17 broken $ü('
9:3 dash data-bind-a
9:31 broken 'x`
	if got := list(lint.Check([]byte(page), lint.Options{})); got != want {
		t.Errorf("Check: found\n%s\nwant\n%s", got, want)
	}
}

// TestOptions: what is meant is no finding.
func TestOptions(t *testing.T) {
	page := []byte(`<b data-persist data-class-x="1" data-on:click="@clipboard('x')">`)
	if n := len(lint.Check(page, lint.Options{})); n != 3 {
		t.Errorf("%d findings, want 3", n)
	}
	o := lint.Options{Pro: true, Allow: []string{"data-class-x"}}
	if found := lint.Check(page, o); len(found) > 0 {
		t.Errorf("with %+v: %v, want nothing", o, found)
	}
}

// TestBound: a page with faults without end gives a list with one.
func TestBound(t *testing.T) {
	page := strings.Repeat("<b data-on-click=x>", 5000)
	found := lint.Check([]byte(page), lint.Options{})
	if len(found) != 1001 || found[1000].Rule != "many" {
		t.Errorf("%d findings, the last %v; want 1001 and \"many\"", len(found), found[len(found)-1])
	}
}

// TestPatch: elements without a selector need ids, and the page has to have them.
func TestPatch(t *testing.T) {
	page := []byte(`<main id=list><p id="one">1</main>`)
	for _, x := range []struct {
		html, want string
		page       []byte
	}{
		{`<p id="one">1</p> <ul id=list><li>a<li>b</ul>`, "", page},
		{`<p>1</p>`, "1:1 target <p>", nil},
		{`<p id="two">2</p>`, "1:1 target id=two", page},
		{`<p id="two">2</p>`, "", nil},
		{`hello <p id=one>1</p>`, "1:1 text hello", page},
		{`<p id=one>1<p>2`, "1:12 target <p>", page},
		{`<div id=list><br><p>1<div>x</div></div><img>`, "1:40 target <img>", page},
		{`<svg id=one><path d="M0"/></svg><b>`, "1:33 target <b>", page},
		{`<body><p>x</p></body>`, "", page},
		{`<b id=one data-on-click="x">`, "1:11 dash data-on-click", page},
		{`<!-- only --> `, "", page},
	} {
		if got := list(lint.Patch([]byte(x.html), x.page, lint.Options{})); got != x.want {
			t.Errorf("Patch(%s): found %q, want %q", x.html, got, x.want)
		}
	}
}

// reporter is a test that remembers its errors.
type reporter struct{ errors []string }

func (*reporter) Helper() {}

func (r *reporter) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestHTML(t *testing.T) {
	r := &reporter{}
	lint.HTML(r, []byte("<b\n data-on-click='x'>"))
	want := "2:2: dash: data-on-click: the client does not know it and passes over it in silence; " +
		"write data-on:click, with a colon"
	if len(r.errors) != 1 || r.errors[0] != want {
		t.Errorf("HTML reported %q, want %q", r.errors, want)
	}
}

// FuzzCheck: no page makes it panic or run for long, and every place is one of the page.
func FuzzCheck(f *testing.F) {
	for _, w := range wrong {
		f.Add(w.html)
	}
	for _, page := range right {
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page string) {
		found := append(lint.Check([]byte(page), lint.Options{}),
			lint.Patch([]byte(page), []byte(page), lint.Options{})...)
		lines := strings.Split(page, "\n")
		for _, x := range found {
			if x.Line < 1 || x.Line > len(lines) || x.Column < 1 ||
				x.Column > len([]rune(lines[x.Line-1]))+1 {
				t.Errorf("Check(%q): %v is no place of the page", page, x)
			}
		}
	})
}

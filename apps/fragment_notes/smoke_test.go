// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/browser"
	"m0serve.dev/apps/internal/smoketest"
)

var bin string

func TestMain(m *testing.M) { smoketest.Main(m, &bin, main) }

func start(t *testing.T, env ...string) *smoketest.Process {
	t.Helper()
	return smoketest.Start(t, bin, env...)
}

// An answerer asks the service; as is "script" for what fragment.js does, else
// "" for a browser without it, which follows redirects.
func ask(t *testing.T, p *smoketest.Process, as, method, path, text string) (int, string) {
	t.Helper()
	var body io.Reader
	if method == "POST" {
		body = strings.NewReader(url.Values{"text": {text}}.Encode())
	}
	req, err := http.NewRequest(method, p.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if as == "script" {
		req.Header.Set(fragmentField, "notes")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// TestSmokeScriptGetsFragmentsAndOthersPages: the same views, the same changes.
func TestSmokeScriptGetsFragmentsAndOthersPages(t *testing.T) {
	for _, as := range []string{"script", "nobody"} {
		t.Run(as, func(t *testing.T) {
			p := start(t)
			for _, step := range []struct {
				method, path, text string
				status             int
				has, lacks         string
			}{
				{"GET", "/", "", 200, "No note yet", "<li "},
				{"POST", "/notes", "milk", 200, ">milk</span>", "No note yet"},
				{"POST", "/notes", " bread ", 200, ">bread</span>", "role=\"alert\""},
				{"POST", "/notes", "  ", 422, "A note needs some text.", ""},
				{"POST", "/notes", strings.Repeat("é", 501), 422, "500 characters at most.", ""},
				{"GET", "/notes/1/edit", "", 200, `value="milk"`, ">milk</span>"},
				{"POST", "/notes/1", "oat milk", 200, ">oat milk</span>", ">milk</span>"},
				{"POST", "/notes/1", "", 422, "A note needs some text.", ""},
				{"POST", "/notes/2/remove", "", 200, ">oat milk</span>", ">bread</span>"},
				{"POST", "/notes/2/remove", "", 404, "That note is gone.", ">bread</span>"},
				{"GET", "/notes/2/edit", "", 404, "That note is gone.", ""},
				{"GET", "/notes/x/edit", "", 404, "That note is gone.", ""},
			} {
				status, html := ask(t, p, as, step.method, step.path, step.text)
				if status != step.status || !strings.Contains(html, step.has) ||
					step.lacks != "" && strings.Contains(html, step.lacks) {
					t.Errorf("%s %s %.20q = %d, want %d with %q and without %q:\n%s", step.method,
						step.path, step.text, status, step.status, step.has, step.lacks, html)
				}
				if whole := strings.Contains(html, "<html"); whole != (as != "script") {
					t.Errorf("%s %s for a %s: whole page is %v", step.method, step.path, as, whole)
				}
			}
		})
	}
}

func TestSmokeNoteStaysText(t *testing.T) {
	p := start(t)
	const hostile = `"><script>alert(1)</script><b>`
	for _, path := range []string{"/", "/notes/1/edit"} {
		if path == "/" {
			ask(t, p, "script", "POST", "/notes", hostile)
		}
		if _, html := ask(t, p, "", "GET", path, ""); strings.Contains(html, "<b>") ||
			strings.Contains(html, "<script>") || !strings.Contains(html, "&lt;b&gt;") {
			t.Errorf("%s shows %q unescaped:\n%s", path, hostile, html)
		}
	}
	// What was not taken comes back into its form, as text.
	long := hostile + strings.Repeat("x", 500)
	if _, html := ask(t, p, "", "POST", "/notes", long); strings.Contains(html, "<b>") ||
		!strings.Contains(html, "&lt;b&gt;xxx") {
		t.Errorf("a draft that is too long is not back as text:\n%s", html)
	}
}

func TestSmokeListIsBounded(t *testing.T) {
	p := start(t)
	for i := range notesMax {
		if status, _ := ask(t, p, "script", "POST", "/notes", fmt.Sprint(i)); status != 200 {
			t.Fatalf("note %d = %d, want 200", i, status)
		}
	}
	status, html := ask(t, p, "script", "POST", "/notes", "one more")
	if status != 409 || !strings.Contains(html, "remove one first") ||
		strings.Contains(html, ">one more<") {
		t.Errorf("a note beyond the bound = %d, want 409 and why", status)
	}
	if status, html := ask(t, p, "", "GET", "/nothing", ""); status != 404 ||
		!strings.Contains(html, `"status":404`) {
		t.Errorf("GET /nothing = %d %s, want 404 as a problem document", status, html)
	}
	if status, _ := ask(t, p, "", "GET", "/notes/1/remove", ""); status != 405 {
		t.Errorf("GET /notes/1/remove = %d, want 405", status)
	}
}

// TestSmokeTwoWorkersAreRefused: two processes would have two lists.
func TestSmokeTwoWorkersAreRefused(t *testing.T) {
	const why = `M0_WORKERS="2": fragment_notes serves from 1 at most`
	smoketest.Refused(t, bin, why, "M0_WORKERS=2")
}

func TestBrowserNotesWithAndWithoutScript(t *testing.T) {
	p := start(t)
	b := browser.Start(t)
	tab := b.Open(t, p.URL)
	tab.Until(t, "document.activeElement.name === 'text'")
	browser.Eval[bool](t, tab, "window.kept = true")
	tab.Type(t, ".add input", "water the <b>plants</b>\r")
	tab.Until(t, "document.querySelector('#notes .text')?.innerText === 'water the <b>plants</b>'")
	if !browser.Eval[bool](t, tab, "window.kept === true") {
		t.Fatal("a note came by a new page, want it by a fragment")
	}
	tab.Until(t, "document.querySelector('.add input').value === ''")
	tab.Type(t, ".add input", "buy oat milk\r")
	tab.Until(t, "document.querySelectorAll('#notes li').length === 2")
	tab.Click(t, "#notes li:first-child .quiet")
	tab.Until(t, "document.querySelector('#notes .add input')?.value === 'buy oat milk'")
	tab.Screenshot(t, "notes-edit", 390, 844, true)
	tab.Type(t, "#notes .add input", ", two bottles\r")
	tab.Until(t, "document.querySelector('#notes .text').innerText === 'buy oat milk, two bottles'")
	tab.Type(t, ".add input", " \r")
	tab.Until(t, "document.querySelector('.alert')?.innerText === 'A note needs some text.'")
	tab.Screenshot(t, "notes", 1280, 800, false)
	tab.Screenshot(t, "notes", 390, 844, true)

	plain := b.Open(t, "about:blank")
	plain.NoScript(t)
	plain.Go(t, p.URL)
	plain.Type(t, ".add input", "call home\r")
	plain.Until(t, "document.querySelectorAll('#notes li').length === 3")
	plain.Click(t, "#notes li:last-child .remove")
	plain.Until(t, "document.querySelectorAll('#notes li').length === 2")
	plain.Until(t, "document.querySelector('#notes .text').innerText === 'call home'")
}

// TestBrowserKeepsWhatIsTypedWhileTheServerIsAway: the page stays, says so, and goes on
// when the server is back.
func TestBrowserKeepsWhatIsTypedWhileTheServerIsAway(t *testing.T) {
	port := fmt.Sprintf("M0_PORT=%d", smoketest.FreePort(t))
	p := smoketest.Start(t, bin, port)
	tab := browser.Start(t).Open(t, p.URL)
	p.Kill(t)
	tab.Type(t, ".add input", "call home\r")
	tab.Until(t, "document.querySelector('.alert') || !document.querySelector('.add')")
	got := browser.Eval[string](t, tab, "document.querySelector('.add input')?.value ?? 'no page'")
	if got != "call home" {
		t.Fatalf("the field has %q while the server is away, want what was typed", got)
	}
	got = browser.Eval[string](t, tab, "document.querySelector('.alert').innerText")
	if !strings.Contains(got, "does not answer") {
		t.Errorf("the page says %q, want that the server does not answer", got)
	}
	smoketest.Start(t, bin, port)
	tab.Type(t, ".add input", "\r")
	tab.Until(t, "document.querySelector('#notes .text')?.innerText === 'call home'")
	tab.Until(t, "!document.querySelector('.alert')")
}

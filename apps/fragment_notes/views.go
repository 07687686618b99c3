// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"m0serve.dev/apps/internal/ui"
	"m0serve.dev/host"
	"m0serve.dev/http/middleware"
)

// routes is the whole application.
var routes = host.Routes[*notes]{
	"GET /":                  (*notes).page,
	"POST /notes":            (*notes).post,
	"GET /notes/:id/edit":    (*notes).edit,
	"POST /notes/:id":        (*notes).save,
	"POST /notes/:id/remove": (*notes).drop,
	"GET /fragment.js":       script,
	"GET " + ui.Path:         stylesheet,
}

var (
	//go:embed page.html.tmpl
	pageSource string
	//go:embed fragment.js
	scriptSource []byte

	templates = template.Must(template.New("").Parse(pageSource))
	sheet     = ui.Stylesheet()
)

// policy lets the page run its own script and nothing that a note may bring.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// fragmentField is on the requests of fragment.js: it wants the list alone.
const fragmentField = "Fragment"

// A view is what the template gets.
type view struct {
	Notes []note
	Open  int    // ID of the note that is edited, 0 for none
	Draft string // of a note that was not taken, in the form that it came from
	Wrong string // why it was not, a sentence; "": nothing is
}

// show writes the whole page, or the list alone for who asks for that.
func (n *notes) show(w http.ResponseWriter, r *http.Request, status int, v view) {
	name := "page"
	if r.Header.Get(fragmentField) != "" {
		name = "notes"
	}
	v.Notes = n.all()
	var html bytes.Buffer
	if err := templates.ExecuteTemplate(&html, name, v); err != nil {
		middleware.WriteProblem(w, r, middleware.Problem{})
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", fragmentField)
	w.WriteHeader(status)
	_, _ = w.Write(html.Bytes())
}

// done answers a change: the list as it is now, or where to find it for a browser
// without a script, so that a reload does not send the form again.
func (n *notes) done(w http.ResponseWriter, r *http.Request, err error, v view) {
	if err != nil {
		v.Wrong = sentence(err)
	}
	switch {
	case errors.Is(err, errGone):
		n.show(w, r, http.StatusNotFound, view{Wrong: v.Wrong})
	case errors.Is(err, errFull):
		n.show(w, r, http.StatusConflict, v)
	case err != nil:
		n.show(w, r, http.StatusUnprocessableEntity, v)
	case r.Header.Get(fragmentField) != "":
		n.show(w, r, http.StatusOK, view{})
	default:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func (n *notes) page(w http.ResponseWriter, r *http.Request) {
	n.show(w, r, http.StatusOK, view{})
}

func (n *notes) post(w http.ResponseWriter, r *http.Request) {
	text := r.PostFormValue("text")
	n.done(w, r, n.add(text), view{Draft: text})
}

func (n *notes) edit(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	i := n.indexLocked(id(r))
	n.mu.Unlock()
	if i < 0 {
		n.done(w, r, errGone, view{})
		return
	}
	n.show(w, r, http.StatusOK, view{Open: id(r)})
}

func (n *notes) save(w http.ResponseWriter, r *http.Request) {
	text := r.PostFormValue("text")
	n.done(w, r, n.change(id(r), text), view{Open: id(r), Draft: text})
}

func (n *notes) drop(w http.ResponseWriter, r *http.Request) {
	n.done(w, r, n.remove(id(r)), view{})
}

// id is that of the path; what is no number is no note's.
func id(r *http.Request) int {
	n, _ := strconv.Atoi(r.PathValue("id"))
	return n
}

func script(_ *notes, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(scriptSource)
}

func stylesheet(_ *notes, w http.ResponseWriter, r *http.Request) { sheet.ServeHTTP(w, r) }

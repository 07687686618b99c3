// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"html/template"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"m0serve.dev/http/etag"
	"m0serve.dev/http/middleware"
	"m0serve.dev/http/negotiate"
)

// mayBeKept lets a client keep an answer and ask each time whether it still holds.
const mayBeKept = "no-cache"

// The representations, best first. A list has no plain text.
var (
	noteKinds = negotiate.NewTypes("application/json", "text/html", "text/plain")
	listKinds = negotiate.NewTypes("application/json", "text/html")
)

var page = template.Must(template.New("notes").Parse(`<!doctype html>
<meta charset="utf-8"><title>Notes</title>
{{range .}}<article id="note-{{.ID}}">{{.Text}}</article>
{{end}}`))

// list answers with all notes. Its tag is made of what it says, by the Tagger.
func (a *app) list(w http.ResponseWriter, r *http.Request) {
	if kind, ok := listKinds.Choose(w, r); ok {
		write(w, http.StatusOK, kind, a.notes.all())
	}
}

// show answers with one note, and without rendering it to whoever has it.
func (a *app) show(w http.ResponseWriter, r *http.Request) {
	n, ok := a.notes.find(idOf(r))
	if !ok {
		missing(w, r)
		return
	}
	kind, ok := noteKinds.Choose(w, r)
	if !ok {
		return
	}
	w.Header().Set("ETag", n.tag(kind))
	w.Header().Set("Cache-Control", mayBeKept) // a 304 says it, too
	if etag.Passes(w, r, n.tag(kind)) {
		writeNote(w, http.StatusOK, kind, n)
	}
}

func (a *app) create(w http.ResponseWriter, r *http.Request) {
	text, ok := readText(w, r)
	if !ok {
		return
	}
	n, err := a.notes.add(text)
	if err != nil {
		middleware.WriteProblem(w, r, middleware.Problem{
			Status: http.StatusInsufficientStorage, Detail: err.Error(),
		})
		return
	}
	h := w.Header()
	h.Set("Location", "/notes/"+strconv.Itoa(n.ID))
	h.Set("ETag", n.tag("application/json"))
	writeNote(w, http.StatusCreated, "application/json", n)
}

// replace changes the text of the version that the client has seen, and of no
// other: two who write at once do not overwrite each other.
func (a *app) replace(w http.ResponseWriter, r *http.Request) {
	text, ok := readText(w, r)
	if !ok || !etag.Stated(w, r) {
		return
	}
	changed := false
	var next note
	a.notes.change(idOf(r), func(n note, ok bool) *note {
		if !isCurrent(w, r, n, ok) {
			return nil
		}
		changed, next = true, note{n.ID, text, n.Version + 1}
		return &next
	})
	if changed {
		w.Header().Set("ETag", next.tag("application/json"))
		writeNote(w, http.StatusOK, "application/json", next)
	}
}

func (a *app) remove(w http.ResponseWriter, r *http.Request) {
	removed := false
	a.notes.change(idOf(r), func(n note, ok bool) *note {
		if removed = isCurrent(w, r, n, ok); !removed {
			return nil
		}
		return &note{ID: n.ID}
	})
	if removed {
		w.WriteHeader(http.StatusNoContent)
	}
}

// isCurrent answers when there is no note, or not in the version that is meant.
func isCurrent(w http.ResponseWriter, r *http.Request, n note, ok bool) bool {
	if !ok {
		missing(w, r)
		return false
	}
	return etag.Passes(w, r, n.tags()...)
}

func missing(w http.ResponseWriter, r *http.Request) {
	middleware.WriteProblem(w, r, middleware.Problem{
		Status: http.StatusNotFound, Detail: "no note " + strconv.Quote(r.PathValue("id")),
	})
}

// idOf is the id in the path; 0, which no note has, for what is none.
func idOf(r *http.Request) int {
	s := r.PathValue("id")
	id, err := strconv.Atoi(s)
	if err != nil || strconv.Itoa(id) != s { // one note, one URL
		return 0
	}
	return id
}

// readText reads {"text": "…"}, and answers when it is something else.
func readText(w http.ResponseWriter, r *http.Request) (text string, ok bool) {
	status, detail := http.StatusBadRequest, `the body has to be {"text": "…"}`
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/json" {
		status, detail = http.StatusUnsupportedMediaType, "the body has to be application/json"
		w.Header().Set("Accept-Post", "application/json")
	} else {
		var in struct{ Text string }
		body := json.NewDecoder(http.MaxBytesReader(w, r.Body, 8*textMax))
		body.DisallowUnknownFields()
		err := body.Decode(&in)
		var tooLong *http.MaxBytesError
		switch {
		case errors.As(err, &tooLong), len(in.Text) > textMax:
			status, detail = http.StatusRequestEntityTooLarge, "a note has 4096 bytes at most"
		case err == nil && strings.TrimSpace(in.Text) != "" && utf8.ValidString(in.Text) && !body.More():
			return in.Text, true
		}
	}
	middleware.WriteProblem(w, r, middleware.Problem{Status: status, Detail: detail})
	return "", false
}

func writeNote(w http.ResponseWriter, status int, kind string, n note) {
	switch kind {
	case "text/html":
		write(w, status, kind, []note{n})
	case "text/plain":
		write(w, status, kind, n.Text)
	default:
		write(w, status, kind, n)
	}
}

// write renders v; a peer that is gone is nobody's matter.
func write(w http.ResponseWriter, status int, kind string, v any) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", mayBeKept)
	h.Set("X-Content-Type-Options", "nosniff")
	if kind != "application/json" {
		h.Set("Content-Type", kind+"; charset=utf-8")
	}
	w.WriteHeader(status)
	switch kind {
	case "text/html":
		_ = page.Execute(w, v)
	case "text/plain":
		_, _ = w.Write([]byte(v.(string) + "\n"))
	default:
		_ = json.NewEncoder(w).Encode(v)
	}
}

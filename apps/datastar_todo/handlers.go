// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"m0serve.dev/apps/internal/answer"
	"m0serve.dev/datastar"
	"m0serve.dev/http/middleware"
	"m0serve.dev/sqlite"
)

// page serves the list as it is, with the id it has: the stream that the page
// opens continues from there, so nothing is lost between the two.
func (a *app) page(w http.ResponseWriter, r *http.Request) {
	l, last, err := a.store.now(r.Context())
	if err != nil {
		a.answer(w, r, err)
		return
	}
	var html bytes.Buffer
	view := pageView{Script: a.client.Tag, List: l, Since: max(last, 1)}
	if err := renderPage(&html, view); err != nil {
		a.answer(w, r, err)
		return
	}
	answer.Page(w, a.client.Policy(), html.Bytes())
}

// stream opens the tab's event stream: first the signals that say it is live,
// then what the tab has missed, then everything as it happens.
func (a *app) stream(w http.ResponseWriter, r *http.Request) {
	hello, err := datastar.AppendPatchSignals(nil,
		[]byte(`{"live":true,"worker":"`+a.worker+`"}`), datastar.SignalsOptions{})
	if err != nil {
		a.answer(w, r, err)
		return
	}
	if err := a.live.Serve(w, r, hello); err != nil {
		a.answer(w, r, err)
	}
}

// add appends a todo. What a person did wrong comes back as the signal error,
// because the client reads no other answer than 200.
func (a *app) add(w http.ResponseWriter, r *http.Request) {
	var signals struct {
		Draft string `json:"draft"`
	}
	if isForm(r) {
		signals.Draft = r.PostFormValue("draft")
	} else if err := datastar.ReadSignals(r, &signals); err != nil {
		a.answer(w, r, err)
		return
	}
	err := a.mutate(r.Context(), add(r.Context(), signals.Draft))
	switch {
	case isForm(r) && err == nil:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case err == nil:
		patchSignals(w, map[string]string{"draft": "", "error": ""})
	case isMistake(err) && !isForm(r):
		patchSignals(w, map[string]string{"error": err.Error()})
	default:
		a.answer(w, r, err)
	}
}

// isForm reports a browser without the client: the page works without it too.
func isForm(r *http.Request) bool {
	return r.Header.Get("Content-Type") == "application/x-www-form-urlencoded"
}

func isMistake(err error) bool {
	return errors.Is(err, errEmpty) || errors.Is(err, errTooLong) || errors.Is(err, errTooMany)
}

func patchSignals(w http.ResponseWriter, signals map[string]string) {
	doc, err := json.Marshal(signals)
	if err != nil {
		panic(err) // strings always encode
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(doc)
}

// onOne serves a change of the todo that the path names.
func (a *app) onOne(change func(context.Context, int64) func(*sqlite.Tx) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if err != nil {
			a.answer(w, r, errNoTodo)
			return
		}
		a.answer(w, r, a.mutate(r.Context(), change(r.Context(), id)))
	}
}

// answer is 204 for nil and the fitting problem for an error.
func (a *app) answer(w http.ResponseWriter, r *http.Request, err error) {
	var p middleware.Problem
	var bad *datastar.SignalsError
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
		return
	case errors.As(err, &bad):
		p = middleware.Problem{Status: bad.Status, Detail: err.Error()}
	case errors.Is(err, errNoTodo):
		p = middleware.Problem{Status: http.StatusNotFound, Detail: err.Error()}
	case isMistake(err):
		p = middleware.Problem{Status: http.StatusUnprocessableEntity, Detail: err.Error()}
	case sqlite.IsFull(err):
		p = middleware.Problem{Status: http.StatusInsufficientStorage, Detail: "the disk is full"}
	case sqlite.IsBusy(err):
		p = middleware.Problem{Status: http.StatusServiceUnavailable, Detail: "too many writers"}
	default:
		a.log.Error("datastar_todo: request failed", "path", r.URL.Path, "err", err)
		p = middleware.Problem{Status: http.StatusInternalServerError}
	}
	middleware.WriteProblem(w, r, p)
}

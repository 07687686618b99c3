// SPDX-License-Identifier: MIT

package datastar_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"m0serve.dev/datastar"
)

// One event as plain bytes: encoded once, it can be sent to a thousand pages.
func ExampleAppendPatchElements() {
	event, err := datastar.AppendPatchElements(nil, []byte("<li>milk</li>\n<li>tea</li>"),
		datastar.ElementsOptions{Selector: "#list", Mode: datastar.Append})
	if err != nil {
		panic(err)
	}
	fmt.Print(strings.TrimRight(string(event), "\n"))
	// Output:
	// event: datastar-patch-elements
	// data: selector #list
	// data: mode append
	// data: elements <li>milk</li>
	// data: elements <li>tea</li>
}

// A handler takes the signals of the page and answers with events.
func ExampleWriter() {
	add := func(w http.ResponseWriter, r *http.Request) {
		var signals struct {
			Draft string `json:"draft"`
		}
		if err := datastar.ReadSignals(r, &signals); err != nil {
			var bad *datastar.SignalsError
			if errors.As(err, &bad) {
				http.Error(w, err.Error(), bad.Status)
			}
			return
		}
		events, err := datastar.NewWriter(w, r)
		if err != nil {
			return // the peer is gone
		}
		_ = events.PatchSignals(map[string]string{"draft": ""}, datastar.SignalsOptions{})
		_ = events.ExecuteScript("console.log('added')", datastar.ScriptOptions{})
	}

	w := httptest.NewRecorder()
	add(w, httptest.NewRequest("POST", "/todos", strings.NewReader(`{"draft":"buy milk"}`)))
	fmt.Print(strings.TrimRight(w.Body.String(), "\n"))
	// Output:
	// event: datastar-patch-signals
	// data: signals {"draft":""}
	//
	// event: datastar-patch-elements
	// data: selector body
	// data: mode append
	// data: elements <script data-effect="el.remove()">console.log('added')</script>
}

// An answer in one piece, without a stream: a part of the page for the client, the whole page for a
// browser that has no JavaScript.
func ExampleAnswerElements() {
	save := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Datastar-Request")
		if !datastar.IsRequest(r) {
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		err := datastar.AnswerElements(w, []byte("<li>milk</li>"),
			datastar.ElementsOptions{Selector: "#list", Mode: datastar.Append})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}

	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/items", nil)
	r.Header.Set("Datastar-Request", "true")
	save(w, r)
	fmt.Println(w.Header().Get("Content-Type"))
	fmt.Println(w.Header().Get("Datastar-Selector"), w.Header().Get("Datastar-Mode"), w.Body)
	// Output:
	// text/html; charset=utf-8
	// #list append <li>milk</li>
}

// SPDX-License-Identifier: MIT

package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed page.html.tmpl
var pageSource string

// views renders everything a browser sees. html/template escapes by context, so
// the text of a todo stays text wherever it stands.
var views = template.Must(template.New("views").Parse(pageSource))

// A todo is one line of the list.
type todo struct {
	ID   int64
	Text string
	Done bool
}

// A list is the whole list at one moment, as the template needs it.
type list struct {
	Todos []todo
	Left  string // "1 item", "3 items"
	Done  bool   // whether any is done
}

func newList(todos []todo) list {
	l := list{Todos: todos}
	left := 0
	for _, t := range todos {
		if t.Done {
			l.Done = true
		} else {
			left++
		}
	}
	l.Left = fmt.Sprintf("%d items", left)
	if left == 1 {
		l.Left = "1 item"
	}
	return l
}

// renderList writes the section that every tab shows: one element with an id,
// which the client morphs into place.
func renderList(w io.Writer, l list) error { return views.ExecuteTemplate(w, "todos", l) }

// A pageView is what the whole page is made of.
type pageView struct {
	Script template.HTML
	List   list
	Since  uint64 // id of the last event the list contains
}

func renderPage(w io.Writer, v pageView) error { return views.ExecuteTemplate(w, "page", v) }

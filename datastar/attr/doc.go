// SPDX-License-Identifier: MIT

// Package attr writes the attributes and actions of Datastar v1 for pages: the names with their
// modifiers and case right, the values escaped.
//
// # Model
//
// A function for each attribute gives an Attribute, which is a name and a value as the browser will
// see it. How it gets into a page depends on the template:
//
//	html/template   <button {{.Add.HTMLAttr}}>
//	templ           <button { templ.Attributes(add.Map())... }>
//	by hand         `<button ` + add.String() + `>`
//
// A List joins several. Values are JavaScript expressions, written by the programmer: "$count++",
// or an action as Get, Post and their like write it. What people typed, or comes from a database,
// goes into an expression through Str or JSON and nothing else.
//
// # Str and not JSON
//
// The client rewrites an expression before it runs it: $name becomes a signal, and @name( a call,
// which it does inside string literals too. A string with "@in(" in it would fall apart, so Str and
// JSON write such characters as escapes; encoding/json and datastar.AppendJSString do not.
//
// # Names
//
// HTML makes the names of attributes lower case. A signal fooBar stands there as foo-bar; a name
// that cannot stand there at all (a__b) goes into the value. The functions see to both, so names
// are given as they are called.
//
// # Limits
//
// The attributes of the free client and of no plugin. A name that no spelling can express is a
// mistake of the programmer: it panics.
package attr

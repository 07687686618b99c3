// SPDX-License-Identifier: MIT

package attr

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Retry is when a request is sent again.
type Retry string

// Ways to retry. The zero value is the client's own, RetryAuto.
const (
	RetryAuto   Retry = "auto"   // when the connection breaks; a clean end or an error status is final
	RetryError  Retry = "error"  // also after 4xx and 5xx
	RetryAlways Retry = "always" // also after a clean end: for a stream that has to come back
	RetryNever  Retry = "never"
)

// Request are the options of an action that asks the server. The zero value leaves everything to
// the client; what it then does stands behind each.
type Request struct {
	Form         bool              // send the form around the element, or Selector's, not the signals
	Selector     string            // of the form, with Form
	Headers      map[string]string //
	Include      string            // regular expression: signals to send; "": all
	Exclude      string            // regular expression: those not to; "": names beginning with _
	Payload      string            // expression sent in place of the signals
	Hidden       Choice            // keep it open while the tab is hidden; GET: no, others: yes
	Cancellation string            // "auto" (a new one ends the one before), "cleanup", "disabled"
	Retry        Retry             //
	Interval     time.Duration     // before the first retry; 0: 1 s
	Scaler       float64           // between two retries; 0: 2
	MaxWait      time.Duration     // 0: 30 s
	MaxCount     int               // retries in a row; 0: 10
}

// Choice is yes, no, or what the client does by itself.
type Choice uint8

// The choices.
const (
	Default Choice = iota
	Yes
	No
)

// Get is the action that asks for url with GET.
func Get(url string, o Request) string { return Send("get", Str(url), o) }

// Post is Get with POST.
func Post(url string, o Request) string { return Send("post", Str(url), o) }

// Put is Get with PUT.
func Put(url string, o Request) string { return Send("put", Str(url), o) }

// Patch is Get with PATCH.
func Patch(url string, o Request) string { return Send("patch", Str(url), o) }

// Delete is Get with DELETE.
func Delete(url string, o Request) string { return Send("delete", Str(url), o) }

// Query is Get with QUERY, which the client knows from 1.0.4 on.
func Query(url string, o Request) string { return Send("query", Str(url), o) }

// Send is the action method, in small letters, for an address that is an expression:
//
//	attr.Send("delete", "'/todo/' + $id", attr.Request{})
func Send(method, url string, o Request) string {
	var b strings.Builder
	b.WriteString("@" + method + "(" + url)
	if options := o.object(); options != "" {
		b.WriteString(", {" + options + "}")
	}
	b.WriteByte(')')
	return b.String()
}

// object is what stands between the braces.
func (o Request) object() string {
	var parts []string
	add := func(on bool, name, value string) {
		if on {
			parts = append(parts, name+": "+value)
		}
	}
	add(o.Form, "contentType", "'form'")
	add(o.Selector != "", "selector", Str(o.Selector))
	add(len(o.Headers) > 0, "headers", headers(o.Headers))
	add(o.Include != "" || o.Exclude != "", "filterSignals", filter(o.Include, o.Exclude))
	add(o.Payload != "", "payload", "("+o.Payload+")")
	add(o.Hidden != Default, "openWhenHidden", strconv.FormatBool(o.Hidden == Yes))
	add(o.Cancellation != "", "requestCancellation", Str(o.Cancellation))
	add(o.Retry != "", "retry", Str(string(o.Retry)))
	add(o.Interval > 0, "retryInterval", millis(o.Interval))
	add(o.Scaler > 0, "retryScaler", strconv.FormatFloat(o.Scaler, 'g', -1, 64))
	add(o.MaxWait > 0, "retryMaxWait", millis(o.MaxWait))
	add(o.MaxCount > 0, "retryMaxCount", strconv.Itoa(o.MaxCount))
	return strings.Join(parts, ", ")
}

func millis(d time.Duration) string {
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10)
}

func headers(h map[string]string) string {
	parts := make([]string, 0, len(h))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		parts = append(parts, Str(name)+": "+Str(h[name]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// filter is the object that chooses signals by their paths.
func filter(include, exclude string) string {
	var parts []string
	if include != "" {
		parts = append(parts, "include: "+Str(include))
	}
	if exclude != "" {
		parts = append(parts, "exclude: "+Str(exclude))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Peek is the value of an expression without being run again when its signals change.
func Peek(expression string) string { return "@peek(() => " + expression + ")" }

// SetAll sets the signals that a regular expression finds ("": all) to the value of an expression.
func SetAll(value, include, exclude string) string {
	return "@setAll(" + value + ", " + filter(include, exclude) + ")"
}

// ToggleAll turns the signals that a regular expression finds ("": all) into their opposite.
func ToggleAll(include, exclude string) string {
	return "@toggleAll(" + filter(include, exclude) + ")"
}

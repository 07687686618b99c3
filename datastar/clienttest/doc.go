// SPDX-License-Identifier: MIT

// Package clienttest imitates, for tests, how the Datastar client (v1.0.2 to
// v1.0.4) keeps one event stream: what it takes from the bytes, when it comes
// back, with which Last-Event-ID, and when it stays away for good.
//
// # Model
//
// A [Tab] is a page with one stream, opened by [Open]. [Tab.Next] gives its
// events one by one; once the tab has ended it gives an [EndError] that says
// why. Hide and Show are what a person does with a tab: the stream is dropped
// and opened again with the id it had. Config.Sleep stands in for the waits.
//
// The id counts from its own line on, not from the end of the event as in a
// browser's EventSource.
//
// # What it does not do
//
// It shares no code with the encoder. It has no DOM and runs no script, takes
// no answers other than event streams, and does not resend changed signals.
package clienttest

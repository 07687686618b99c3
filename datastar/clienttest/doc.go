// SPDX-License-Identifier: MIT

// Package clienttest is a stand-in for the browser in tests of Datastar
// streams: it follows the rules by which the client (v1.0.2 to v1.0.4) opens a
// stream, takes ids, waits, comes back and stays away for good, and hands over
// the events that a page would get. What a deploy, a broken connection or a tab
// in the background does to a page is seen in milliseconds, without a browser.
//
// # Model
//
// A [Tab] is a page with one @get stream, opened by [Open]. [Tab.Next] gives its
// events one by one; once the tab has ended it gives an [EndError] that says
// why. Hide and Show are what a person does with a tab: the stream is dropped
// and opened again with the id it had. Config.Sleep stands in for the waits.
//
// # The rules
//
//   - An id counts from its own line on, not from the end of the event as in an
//     EventSource, and is sent with every later request. An empty id takes it
//     back. One outside of Latin-1 cannot be sent: every later request fails.
//   - A line ends at CR, LF or CRLF. Comments are passed over, and events whose
//     type does not begin with "datastar".
//   - "retry: N" is the first wait from then on.
//   - What breaks off is asked for again in every mode, and so is a server that
//     cannot be reached. A clean end, 4xx, 5xx and any other status go by the
//     mode, see [Retry]; 204 and a 3xx that leads nowhere end it in every mode.
//   - The waits grow from Interval by Scaler up to MaxWait. An answer of 200
//     begins them anew; after MaxCount in a row the client gives up.
//
// # What it does not do
//
// It shares no code with the encoder. It has no DOM and runs no script, and it
// sends the same signals each time, as 1.0.2 does. An answer that is no stream
// (HTML, JSON, JavaScript) ends it without an event. A tab that is hidden while
// it waits waits no more; the real one may keep its timer.
package clienttest

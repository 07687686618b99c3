// SPDX-License-Identifier: MIT

// Package stream keeps Datastar pages live: every event that one worker sends
// reaches every page on all workers, and a page that lost its connection is
// caught up when it comes back.
//
// # Model
//
// A [Stream] is a channel of an [sse.Hub] with events of Datastar in it. Each
// frame has an id, unique and growing over all workers and, by [Stream.Restore],
// over restarts. A page opens it with data-init="@get('/stream?since=ID')",
// where ID is what the page was rendered from.
//
//   - A page that was just loaded and says nothing gets what comes next, and no
//     history.
//   - One that says since=ID gets what came after ID.
//   - One that comes back says Last-Event-ID, which wins over since, and gets
//     what it missed: each frame once, and then the live ones.
//   - One whose id is unknown, or older than the journal, gets a snapshot.
//
// # What the client makes necessary
//
// It takes an id when it reads the id's line, whole event or not. So the id of
// a frame follows it in a block of its own, and a connection that breaks inside
// a frame asks for that frame again: none is lost, wherever it breaks. A break
// inside that block, which is some 20 bytes, brings that one frame a second
// time. Morphs and signals do not mind; who appends has to expect it.
//
// It stops for good when a stream ends cleanly or answers 204, 4xx or 5xx. So a
// drain cuts streams, after telling each client its own time to wait
// ([sse.Hub.Drain]), and a snapshot that fails cuts its page off.
//
// It drops its stream while its tab is hidden and continues with the id it had,
// so most replays are those of people who switch tabs.
//
// It aborts a request with the URL of another one: give each stream its own.
//
// # Limits
//
// Those of the hub: frames and bytes in a journal and in the queue of one page
// (sse.HubConfig, sse.Limits), bytes in a frame (package bus). It does not
// store frames; an application that has to survive a restart stores them
// itself, see [Stream.Number].
package stream

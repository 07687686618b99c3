// SPDX-License-Identifier: MIT

// Package publish has the doors through which other processes publish: a management
// command, a cron job, a child of a worker, a view. One is a unix socket for the
// processes of the machine ([Door]), the other speaks HTTP for publishers of GRIP
// ([HTTPDoor]).
//
// # Model
//
// A service has one unix socket, made by the process that starts its workers
// ([Listen]) and inherited by all of them like the TCP listener. Every worker
// accepts from it and publishes in its own process ([Door]). So the process that
// owns the socket runs nothing for it, a publisher outlives any worker by
// connecting again, and ids come from the word that all publishers share. What
// is published goes through [m0serve.dev/http/sse.PublishEvent]: a client cannot
// tell which door an event came through.
//
//	publisher ── unix socket ──▶ any worker's Door ──▶ bus ──▶ every worker
//	    ◀── id, or the refusal in words ──┘
//
// # Where it is
//
// A publisher that was not told finds the socket by the working directory that
// it has in common with the service: /tmp/m0-UID/HASH/NAME.sock, where HASH is
// the first 16 hex digits of the SHA-256 of the directory's real path and NAME
// tells the services of one directory apart. The directories are their user's
// alone (0700). [Env] names another path. Not $XDG_RUNTIME_DIR: it ends with the
// last login, and a cron job or a system unit has none.
//
// # Who may publish
//
// A process of the service's own user, or root's; the kernel says who connects.
// Channel names that open with \x01 are refused (contract row B4).
//
// # Format
//
// A stream of requests, each answered in order before the next is looked at.
// Numbers are big-endian.
//
//	request = "m0p1" u32 length, payload of that length
//	payload = u16 count, count × message
//	message = u8 form (0), u16 channel, u16 event, u16 id, u32 data (lengths),
//	          then these four texts, UTF-8; event and id may be empty: none
//	answer  = "m0p1" u32 length, u8 0, for each message:
//	          u8 refused (0 or 1), u64 id, u16 length, reason
//	        | "m0p1" u32 length, u8 1, reason; the connection ends
//
// Messages of a request are published one by one, in order; one that is refused
// leaves the others alone. Bytes that are no request end their connection and
// nobody else's.
//
// # Limits
//
// A worker serves 256 connections; the one idle longest makes room for a new
// one. A request is at most 4 MiB and 64 KiB, has up to 1024 messages and has to
// arrive within 10 s of its first byte; 16 requests above 64 KiB are in memory
// at once, the next waits. Everything refused is counted ([Stats]).
//
// # By HTTP
//
// An [HTTPDoor] is a handler for the publish address of a GRIP proxy:
//
//	POST /publish/  {"items": [{"channel": "a", "http-stream": {"content": "..."}}]}
//	POST /publish/  channel=a&data=...&event=...&id=...
//
// The first is GRIP's, as package grip reads it, and goes to every worker on
// [ItemChannel]; the second is one event as through the socket, for curl. Answers are
// "Published", or {"message": "Published"} for those who accept JSON; 400 names what
// is wrong and 503 says that no worker took it. Publishers have a key: they sign a
// token with it (Authorization: Bearer, a JWT), or send it (Bearer KEY, Basic
// NAME:KEY). A body has up to 1,000,000 bytes. TLS is a proxy's; without it a key that
// leaves the machine can be read on its way.
//
// What the doors do not do: subscribe, store, or promise more than the bus. A
// worker that dies between its publishing and its answer leaves the publisher
// without one.
package publish

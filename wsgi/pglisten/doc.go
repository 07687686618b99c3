// SPDX-License-Identifier: MIT

// Package pglisten publishes what PostgreSQL NOTIFYs (contract row R5): a trigger,
// psql, or an application with a cursor says
//
//	SELECT pg_notify('m0', '{"channel":"news","event":"new","data":"42"}')
//
// and once that is committed, every service that listens to the same database has
// the event on its streams.
//
// A [Listener] holds one connection that LISTENs on [Channel]. Its goroutine decodes
// each payload, checks it and hands it to Config.Publish. A payload is a JSON object
// of "channel", "event" and "data". Only channel is needed, nothing else may be
// there, and what is there has to be a string: the object that row_to_json makes
// would otherwise arrive as an empty event. What is not so is refused, counted by
// cause and logged with its cure, at most one line every ten seconds.
//
// A connection that ends is made again, at once and then with growing pauses and
// jitter. Each new one LISTENs before anything else, so that nothing is missed that
// is committed after it; what was committed in between is lost, since PostgreSQL
// keeps notifications for those alone who listen. A link that is dead without
// saying so (a firewall, a machine without power) is found by an empty query after
// ten seconds of silence, which has ten more to be answered.
//
// PostgreSQL's own limits: a payload has less than 8,000 bytes; of equal ones in one
// transaction one is sent; a standby cannot LISTEN, and a pooler that shares
// connections between transactions must not stand in between.
//
// No error, log line or figure of this package shows the password. The package
// knows nothing of m0serve: it needs a DSN, a function and a context.
package pglisten

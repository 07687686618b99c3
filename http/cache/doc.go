// SPDX-License-Identifier: MIT

// Package cache keeps answers of a handler in memory and gives them to those
// who ask for the same again: a shared cache as RFC 9111 has it, as ordinary
// middleware (contract row H3).
//
//	c := cache.New(cache.Config{})
//	defer c.Close()
//	http.ListenAndServe(addr, c.Wrap(app))
//
// The application says what may be kept, in Cache-Control: max-age or s-maxage,
// and stale-while-revalidate and stale-if-error (RFC 5861). What it does not
// speak of is not kept, unless Config.Freshness says otherwise. Never kept are
// answers that are private, no-store or no-cache, set a cookie, vary by "*",
// are event streams or longer than MaxBody, and answers to Authorization that
// are not marked public, s-maxage or must-revalidate. Range requests, bodies
// and preconditions but If-None-Match and If-Modified-Since go past it.
//
// Whatever is asked for by many at once is computed once: the first request
// runs the handler, the others wait for its answer, each as long as its own
// context lives. The handler's context ends when nobody wants the answer any
// more, not when the first client leaves. An answer that may not be shared is
// given to the first alone; the others run the handler for themselves.
//
// A request says nothing about freshness here: a reload ("no-cache") gets what
// there is, since whoever may ask must not be able to make the application work.
// Only no-store and only-if-cached are heard.
//
// Eviction is S3-FIFO: what is asked for once leaves through a small queue, so
// that a crawler does not empty the cache, and a hit writes nothing but one
// counter. Fields of outer middleware that the handler did not touch, such as
// a request id, are not kept.
//
// It keeps nothing on disk and nothing between processes: each worker has its
// own cache, and an invalidation reaches this one alone; publish it on the bus
// to reach all.
package cache

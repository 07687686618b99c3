// SPDX-License-Identifier: MIT

// Package metrics counts what a server does and shows it as OpenMetrics 1.0 text,
// or as the older Prometheus text 0.0.4, whichever is asked for (contract row H5).
// It has no dependency outside this module.
//
//	reg := metrics.New()
//	sold := reg.Counters(metrics.Family{Name: "shop_sold", Help: "Things sold."}, "kind")
//	requests := metrics.NewRequests(reg)
//	metrics.Engine(reg, srv.Stats) // loops, takeovers, connections, drops
//	metrics.Streams(reg, hub.Stats) // held streams, queues, frames lost, the bus
//
//	mux.Handle("GET /metrics", metrics.Handler(reg))
//	handler := requests.Wrap(mux)
//	sold.With("book").Inc()
//
// # Model
//
// A Registry has families in the order in which they were made. Counters, gauges
// and histograms are a few words of memory that any number of goroutines add to
// by atomic instructions: an observation takes no lock and allocates nothing.
// What is counted elsewhere already is read when somebody asks (Registry.Collect).
// A Writer is the text alone, for who has figures and no registry.
//
// # Limits
//
// A family has at most SeriesMax combinations of label values; what comes then is
// counted together, under OtherLabel in every label. Requests are labelled by the
// pattern that served them, never by a path, and by methods that everybody knows.
// Channels that lost frames are named up to ChannelsMax, the rest is one.
//
// Mistakes in names are the programmer's and panic where a family is made. Not
// here: exemplars, timestamps, summaries, pushing. Figures of several workers are
// their collector's to add, who knows how to add counters that begin anew when a
// worker does; what all workers share is shown by every one, see Workers.
package metrics

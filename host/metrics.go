// SPDX-License-Identifier: MIT

package host

import "m0serve.dev/http/metrics"

// Metrics shows in r what the host counts: the server and the streams of this
// worker, and every worker of the service, each by its index and all together. Call
// it once for a registry, from App.Handler. Whoever asks gets the figures of the
// worker that answers, and of all workers from any of them.
func (c *Context) Metrics(r *metrics.Registry) {
	metrics.Engine(r, c.Server)
	metrics.Streams(r, c.Hub.Stats)
	metrics.Workers(r, func() []metrics.Worker {
		stats := c.Stats()
		workers := make([]metrics.Worker, 0, len(stats))
		for _, one := range stats {
			workers = append(workers, metrics.Worker(one))
		}
		return workers
	})
}

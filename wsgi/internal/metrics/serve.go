// SPDX-License-Identifier: MIT

package metrics

import (
	"context"
	"net/http"

	"m0serve.dev/http/loop"
	open "m0serve.dev/http/metrics"
)

// A Handler answers with the figures that Collect gathers.
type Handler struct {
	// Collect may ask siblings, and says which of them did not answer; it is bounded
	// by its context.
	Collect func(ctx context.Context) (workers []Worker, silent []int)
}

// Serve answers x, whatever its path is. Collect may block like any handler.
func (h *Handler) Serve(x *loop.Exchange) {
	req := x.Request()
	if m := string(req.Method); m != http.MethodGet && m != http.MethodHead {
		x.Fail(http.StatusMethodNotAllowed, "")
		_ = x.Field("Allow", "GET, HEAD")
		return
	}
	accept, _ := req.Field("accept")
	kind := open.Negotiate(string(accept))
	for _, f := range [...][2]string{
		{"Content-Type", kind}, {"Cache-Control", "no-store"}, {"Vary", "Accept"},
	} {
		_ = x.Field(f[0], f[1]) // constants
	}
	workers, silent := h.Collect(x.Context())
	_, _ = x.Write(Append(nil, kind, workers, silent...)) // the peer may be gone
}

// ServeHTTP is Serve for net/http.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	open.Answer(w, r, func(dst []byte, kind string) []byte {
		workers, silent := h.Collect(r.Context())
		return Append(dst, kind, workers, silent...)
	})
}

// SPDX-License-Identifier: MIT

package middleware

import (
	"log/slog"
	"net/http"
	"time"
)

// AccessLog writes one record a request to log, after its handler: method,
// path (without the query, which may hold secrets), the pattern that fit,
// status, bytes of the body, seconds, and the peer. With slog.NewJSONHandler
// that is a JSON line each. A handler that panics is logged too, as 500, and
// the panic goes on. A held stream is logged when it is parked.
func AccessLog(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec := &recorder{ResponseWriter: w}
		returned := false
		defer func() {
			status := rec.status
			switch {
			case status != 0:
			case returned:
				status = http.StatusOK
			default:
				status = http.StatusInternalServerError
			}
			log.LogAttrs(r.Context(), slog.LevelInfo, "request",
				slog.String("method", r.Method),
				slog.String("path", r.URL.Path),
				slog.String("pattern", r.Pattern),
				slog.Int("status", status),
				slog.Int64("bytes", rec.bytes),
				slog.Float64("seconds", time.Since(start).Seconds()),
				slog.String("remote", r.RemoteAddr),
			)
		}()
		next.ServeHTTP(rec, r)
		returned = true
	})
}

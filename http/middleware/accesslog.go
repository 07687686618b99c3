// SPDX-License-Identifier: MIT

package middleware

import (
	"log/slog"
	"net/http"
	"time"

	"m0serve.dev/http/internal/record"
)

// AccessLog writes one record a request to log, after its handler: method,
// path (without the query, which may hold secrets), the pattern that fit,
// status, bytes of the body, seconds, the peer, and the id where RequestID is
// around it. With slog.NewJSONHandler
// that is a JSON line each. A handler that panics is logged too, as 500, and
// the panic goes on. A held stream is logged when it is parked.
func AccessLog(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec := &record.Writer{ResponseWriter: w}
		returned := false
		defer func() {
			status := rec.Status
			switch {
			case status != 0:
			case returned:
				status = http.StatusOK
			default:
				status = http.StatusInternalServerError
			}
			attrs := append(make([]slog.Attr, 0, 8),
				slog.String("method", r.Method),
				slog.String("path", r.URL.Path),
				slog.String("pattern", r.Pattern),
				slog.Int("status", status),
				slog.Int64("bytes", rec.Bytes),
				slog.Float64("seconds", time.Since(start).Seconds()),
				slog.String("remote", r.RemoteAddr),
			)
			if id := RequestIDOf(r.Context()); id != "" {
				attrs = append(attrs, slog.String("request_id", id))
			}
			log.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs...)
		}()
		next.ServeHTTP(rec, r)
		returned = true
	})
}

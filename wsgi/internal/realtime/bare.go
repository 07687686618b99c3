// SPDX-License-Identifier: MIT

package realtime

import (
	"strings"
	"time"

	"m0serve.dev/http/wire"
)

// appendAnswer appends a whole answer. connection is the line that says what becomes of
// its connection; "": it goes on, which needs no word.
func appendAnswer(dst []byte, status int, reason string, fields []Field, body []byte,
	connection string) []byte {
	if head, err := wire.AppendStatusReason(dst, status, reason); err == nil && reason != "" {
		dst = head
	} else {
		dst = wire.AppendStatusLine(dst, status)
	}
	isDated := false
	for _, f := range fields {
		isDated = isDated || strings.EqualFold(f.Name, "Date")
		if isFraming(f.Name) {
			continue
		}
		if head, err := wire.AppendField(dst, f.Name, f.Value); err == nil {
			dst = head
		}
	}
	if !isDated {
		dst = append(dst, "Date: "...)
		dst = wire.AppendTime(dst, time.Now())
		dst = append(dst, wire.LineEnd...)
	}
	hasBody := status != 204 && status != 304
	if hasBody {
		dst = wire.AppendContentLength(dst, int64(len(body)))
	}
	dst = append(dst, connection...)
	dst = append(dst, wire.LineEnd...)
	if hasBody {
		dst = append(dst, body...)
	}
	return dst
}

// isFraming reports whether a field is the engine's to say.
func isFraming(name string) bool {
	for _, ours := range [...]string{
		"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive",
	} {
		if strings.EqualFold(name, ours) {
			return true
		}
	}
	return false
}

// SPDX-License-Identifier: MIT

package server

import (
	"bytes"
	"log"
	"log/slog"
)

// errorLog is where net/http reports. What a peer did wrong, at the opening of
// TLS or in its frames, is worth no line where anybody may connect; a panic of a
// handler is.
func errorLog(to *slog.Logger) *log.Logger { return log.New(stdLines{to}, "", 0) }

type stdLines struct{ to *slog.Logger }

// Write implements io.Writer for one line.
func (l stdLines) Write(line []byte) (int, error) {
	text := string(bytes.TrimSpace(line))
	switch {
	case bytes.HasPrefix(line, []byte("http: panic")),
		bytes.HasPrefix(line, []byte("http2: panic")):
		l.to.Error("server: a handler panicked", "err", text)
	case bytes.HasPrefix(line, []byte("http: Accept error")):
		l.to.Error("server: accept", "err", text)
	default:
		l.to.Debug("server: net/http", "err", text)
	}
	return len(line), nil
}

// SPDX-License-Identifier: MIT

package server

import (
	"crypto/tls"
	"net"
	"net/http"
)

// splitHTTP2 gives the HTTP/2 connections of std a http.Server of their own, which
// accepts nothing: its Shutdown tells them all to go away, and leaves those of
// HTTP/1.1 alone, whose requests it would drop.
func (f *fallback) splitHTTP2() {
	f.h2 = &http.Server{
		IdleTimeout: f.std.IdleTimeout, ReadHeaderTimeout: f.std.ReadHeaderTimeout,
		MaxHeaderBytes: f.std.MaxHeaderBytes, ErrorLog: f.std.ErrorLog,
		HTTP2:     &http.HTTP2Config{SendPingTimeout: pingAfter},
		TLSConfig: f.std.TLSConfig.Clone(),
	}
	_ = f.h2.ServeTLS(noListener{}, "", "") // it makes TLSNextProto
	serve := f.h2.TLSNextProto["h2"]
	if serve == nil {
		f.h2 = nil // GODEBUG=http2server=0
		return
	}
	f.std.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
		"h2": func(_ *http.Server, c *tls.Conn, h http.Handler) { serve(f.h2, c, h) },
	}
}

// goAway tells HTTP/2 peers to go away (RFC 9113 section 6.8): what they have begun
// is answered, and a connection is closed a second after its last stream.
func (f *fallback) goAway() {
	if f.h2 != nil {
		_ = f.h2.Shutdown(f.ended) // it has no connections to wait for
	}
}

// A noListener brings no connection.
type noListener struct{}

func (noListener) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (noListener) Close() error              { return nil }
func (noListener) Addr() net.Addr            { return &net.TCPAddr{} }

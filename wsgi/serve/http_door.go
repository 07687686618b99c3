// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/publish"
	"m0serve.dev/http/server"
	"m0serve.dev/wsgi/internal/options"
)

// Limits of the HTTP door of a worker. A body of more than 64 KiB takes a handler while
// it comes, so that as many are in memory at once.
const (
	httpDoorConns    = 1024
	httpDoorHandlers = 32
	httpDoorBody     = 10 * time.Second
)

// An httpDoor is --publish-http in one worker. It has a loop of its own, apart from
// the application's, and no Python: a view that holds every thread and the GIL, and
// waits for the answer, gets it.
type httpDoor struct {
	ln   net.Listener // nil: none, and nothing else is there
	door *publish.HTTPDoor
	srv  *server.Server
}

// open serves what was adopted as ln.
func (d *httpDoor) open(o *options.Options, b *bus.Bus, log *slog.Logger) (err error) {
	if d.ln == nil {
		return nil
	}
	cfg := publish.HTTPConfig{Bus: b, Key: o.PublishKey, Log: log,
		Issuer: cmp.Or(o.PublishIssuer, gripIssuer)}
	if o.PublishLocal {
		cfg.Local = addressOf(d.ln)
	}
	d.door = publish.NewHTTP(cfg)
	d.srv, err = server.New(server.Config{
		Handler: d.door, Log: log, MaxConns: httpDoorConns, BlockingMax: httpDoorHandlers,
		MaxBody:     -1, // the door has its own, and reads nothing of those who lack the key
		BodyTimeout: httpDoorBody, DrainTimeout: doorTimeout,
	})
	if err != nil {
		return err
	}
	go func() {
		if err := d.srv.Serve(d.ln); !errors.Is(err, server.ErrClosed) {
			log.Error("m0serve: --publish-http", "err", err)
		}
	}()
	return nil
}

// close answers what has arrived, within ctx. Connections that publishers keep are cut
// at its end.
func (d *httpDoor) close(ctx context.Context) {
	if d.srv != nil {
		_ = d.srv.Shutdown(ctx) // it says that some were
	}
}

// stats are the counters; nil: there is no door.
func (d *httpDoor) stats() *publish.HTTPStats {
	if d.door == nil {
		return nil
	}
	stats := d.door.Stats()
	return &stats
}

// addressOf is the address that ln listens at.
func addressOf(ln net.Listener) netip.Addr {
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.IPv6Loopback()
}

// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"context"
	"fmt"
	"log/slog"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/worker"
	"m0serve.dev/wsgi/internal/options"
	"m0serve.dev/wsgi/pglisten"
)

// A postgres is --pg-listen in one worker: it listens while worker 0's duties are this
// worker's, and waits for them otherwise, so that a NOTIFY is published once.
type postgres struct {
	listener *pglisten.Listener // nil: nobody asked for it
	stop     context.CancelFunc
	ended    chan struct{} // closed when it does not listen any more
}

// open begins to wait for the duties.
func (p *postgres) open(
	o *options.Options, b *bus.Bus, in *worker.Inherited, log *slog.Logger,
) error {
	if o.PGListen == "" {
		return nil
	}
	dsn, err := pglisten.ParseDSN(o.PGListen)
	if err != nil {
		return fmt.Errorf("--pg-listen: %w", err)
	}
	p.listener = pglisten.New(pglisten.Config{DSN: dsn, Publish: pglisten.ToBus(b), Log: log})
	ctx, cancel := context.WithCancel(context.Background())
	p.stop, p.ended = cancel, make(chan struct{})
	go func() {
		defer close(p.ended)
		select {
		case <-in.Duties():
			p.listener.Run(ctx)
		case <-ctx.Done():
		}
	}()
	return nil
}

// close ends it and gives the duties up: a successor listens from then on, while the
// requests of this worker end.
func (p *postgres) close(in *worker.Inherited, log *slog.Logger) {
	if p.listener == nil {
		return
	}
	p.stop()
	<-p.ended
	if !in.HasDuties() {
		return
	}
	if err := in.DutiesDone(); err != nil {
		log.Error("m0serve: --pg-listen", "err", err)
	}
}

// stats are the figures for --metrics, nil where it does not listen.
func (p *postgres) stats(in *worker.Inherited) *pglisten.Stats {
	if p.listener == nil || !in.HasDuties() {
		return nil
	}
	st := p.listener.Stats()
	return &st
}

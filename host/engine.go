// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// an engine is the server under the host.
type engine struct{ server http.Server }

func newEngine(s *service) *engine {
	ctx, cancel := context.WithCancel(context.Background())
	e := &engine{server: http.Server{
		Handler: s.handler, MaxHeaderBytes: s.cfg.MaxHead,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}}
	e.server.RegisterOnShutdown(cancel)
	return e
}

func (e *engine) serve(ln net.Listener) error { return e.server.Serve(ln) }

func (e *engine) adopt(fd int) error { return errors.New("host: cannot adopt yet") }

func (e *engine) shutdown(ctx context.Context) error {
	err := e.server.Shutdown(ctx)
	if err != nil {
		_ = e.server.Close()
	}
	return err
}

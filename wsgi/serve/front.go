// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"fmt"
	"net/netip"
	"strings"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/static"
	"m0serve.dev/http/wire"
	"m0serve.dev/wsgi/internal/forwarded"
	"m0serve.dev/wsgi/internal/options"
	"m0serve.dev/wsgi/internal/realtime"
)

// A front is what stands before the application in every worker: files that
// need no Python, and the rule which header fields the application sees.
type front struct {
	files  []*static.Files
	routes []string // that need no Python, with their slash
	filter *forwarded.Filter
	app    *wsgiHandler // of requests that are not for files; nil: the guest's
}

func newFront(o *options.Options, kind string) (*front, error) {
	f := &front{}
	var err error
	f.filter, err = forwarded.New(forwarded.Config{
		Trust: o.ForwardedAllowIPs, Nobody: !o.ProxyHeaders,
	})
	if err != nil {
		return nil, err
	}
	for _, s := range o.Static {
		root := s.Route == "/"
		if root && kind == "asgi" {
			return nil, errRootOfASGI
		}
		files, err := static.Open(static.Config{Route: s.Route, Dir: s.Dir, Index: "index.html",
			Fallthrough: root})
		if err != nil {
			return nil, fmt.Errorf("--static: %w", err)
		}
		f.files = append(f.files, files)
		if !root { // what is no file there is the application's
			f.routes = append(f.routes, files.Route())
		}
	}
	return f, nil
}

// isApp reports whether a request is the application's.
func (f *front) isApp(r *wire.Request) bool {
	if f.app != nil && f.app.isMessage(r) {
		return true // whatever lies there
	}
	for _, route := range f.routes {
		if strings.HasPrefix(string(r.Path), route) {
			return false
		}
	}
	return true
}

// Serve answers from files, or asks the application.
func (f *front) Serve(x *loop.Exchange) {
	if what, inside := x.Asked(); inside {
		c := insider(x, what)
		f.app.serve(x, &c)
		return
	}
	c := f.look(x)
	if f.app != nil && f.app.refuses(x) {
		return
	}
	for _, files := range f.files {
		if files.Serve(x) {
			return
		}
	}
	if f.app == nil {
		x.Fail(404, "no such file")
		return
	}
	f.app.serve(x, &c)
}

// A caller is what the application is told of who asks.
type caller struct {
	addr   netip.Addr // of the client; invalid: a unix peer
	port   uint16
	scheme string
	name   []byte // instead of the Host field; nil: as sent
}

// look takes away what the application must not see and says who asks.
func (f *front) look(x *loop.Exchange) caller {
	res := f.filter.Apply(x.Request(), x.Peer())
	c := caller{scheme: "http", name: res.Host, addr: res.Client.Addr(), port: res.Client.Port()}
	if res.Scheme != "" {
		c.scheme = res.Scheme
	}
	if res.Client != x.Peer() {
		x.SetPeer(res.Client) // the access log names the client, too
	}
	return c
}

// insider is who asks from inside: the client on whose behalf it is.
func insider(x *loop.Exchange, what any) caller {
	c := caller{scheme: "http", addr: x.Peer().Addr(), port: x.Peer().Port()}
	if in, ok := what.(realtime.Inside); ok && in.Scheme != "" {
		c.scheme = in.Scheme
	}
	return c
}

// SPDX-License-Identifier: MIT

package static

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/wire"
)

// Config says which directory is served where. Only Dir is required.
type Config struct {
	// Route is the path that the directory answers below: "/static" and
	// "/static/" are the same, "" is "/". It is compared with the path as sent.
	Route string
	Dir   string
	// Index is the file that stands for its directory, as index.html; a request
	// for the directory without its slash is sent there (301). "": directories
	// do not exist.
	Index string
	// CacheControl is sent with every file and every 304; "" sends none.
	CacheControl string
	// Types maps extensions, dot included and in lower case, to content types, over
	// the built-in ones.
	Types map[string]string
	// Plain serves no precompressed siblings, and no Vary.
	Plain bool
	// Fallthrough leaves what is no file here, and every method but GET and
	// HEAD, to whoever is next, instead of answering 404 and 405.
	Fallthrough bool
}

// Files serves one directory. It may be used by any number of goroutines.
type Files struct {
	cfg   Config
	route string // ends with a slash
	dir   directory
	types map[string]string
	now   func() time.Time

	small, large string // names of routes, for the loop's scores
}

// Open checks cfg and opens its directory. Another directory that is put in its
// place later, as deployments do, is seen within a second.
func Open(cfg Config) (*Files, error) {
	route := strings.TrimSuffix(cfg.Route, "/") + "/"
	if route[0] != '/' {
		return nil, fmt.Errorf("static: route %q does not open with a slash", cfg.Route)
	}
	if !wire.ValidValue(cfg.CacheControl) {
		return nil, errors.New("static: a control byte in Cache-Control")
	}
	if cfg.Index != "" && !servable([]byte(cfg.Index)) {
		return nil, fmt.Errorf("static: index %q is not the name of a file to serve", cfg.Index)
	}
	types := builtinTypes
	if len(cfg.Types) > 0 {
		types = maps.Clone(builtinTypes)
		for ext, kind := range cfg.Types {
			if !strings.HasPrefix(ext, ".") || kind == "" || !wire.ValidValue(kind) {
				return nil, fmt.Errorf("static: content type %q of %q", kind, ext)
			}
			types[ext] = kind
		}
	}
	f := &Files{
		cfg: cfg, route: route, types: types, now: time.Now,
		small: "static:" + route, large: "static, long:" + route,
	}
	f.dir.path = cfg.Dir
	if err := f.dir.open(); err != nil {
		return nil, err
	}
	return f, nil
}

// Close closes the directory. Files that are being sent are sent whole.
func (f *Files) Close() error { return f.dir.now.Load().Close() }

// Route is the path the files lie below, with its slash.
func (f *Files) Route() string { return f.route }

// Serve answers x when it is for this directory; otherwise x is untouched. A
// long file makes the handler leave its loop.
func (f *Files) Serve(x *loop.Exchange) (handled bool) {
	req := x.Request()
	if !f.isBelow(req.Path) {
		return false
	}
	r := request{method: string(req.Method), path: req.Path, query: req.RawQuery}
	r.readFields(req.Fields)
	a, handled := f.answer(&r)
	if !handled {
		return false
	}
	defer a.close()
	a.sendTo(x, f)
	return true
}

// ServeHTTP answers a request of net/http. What Serve would leave to others is
// 404 here.
func (f *Files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := request{method: r.Method, path: []byte(r.URL.EscapedPath()), query: []byte(r.URL.RawQuery)}
	q.readHeader(r.Header)
	a := refusal(http.StatusNotFound)
	if f.isBelow(q.path) {
		if own, handled := f.answer(&q); handled {
			a = own
		}
	}
	defer a.close()
	a.sendHTTP(w, q.method == http.MethodHead)
}

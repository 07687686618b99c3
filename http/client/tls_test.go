// SPDX-License-Identifier: MIT

package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// secureServer serves "hello" over TLS for the name example.com; /cut ends the
// connection inside a body that only the end of the connection ends.
func secureServer(t *testing.T) (url string, roots *x509.CertPool) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/cut" {
			_, _ = io.WriteString(w, "hello")
			return
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nhello")
		if r.URL.RawQuery == "clean" {
			c.Close()
		} else {
			_ = c.(*tls.Conn).NetConn().Close()
		}
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	roots = x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	return srv.URL, roots
}

func TestHTTPS(t *testing.T) {
	url, roots := secureServer(t)
	c := newClient(t, Config{TLS: &tls.Config{RootCAs: roots}})
	for range 3 {
		resp, err := c.Get(within(t), url)
		if err != nil || string(resp.Body) != "hello" {
			t.Fatalf("Get = %q, %v; want %q", resp.Body, err, "hello")
		}
	}
	if s := c.Stats(); s.Dials != 1 || s.Reused != 2 {
		t.Errorf("%+v, want one connection for all", s)
	}
	resp, err := c.Get(within(t), url+"/cut?clean")
	if err != nil || string(resp.Body) != "hello" {
		t.Errorf("ended by a farewell: %q, %v; want %q", resp.Body, err, "hello")
	}
	if _, err = c.Get(within(t), url+"/cut"); kindOfError(err) != Truncated {
		t.Errorf("cut: %v, want %v", err, Truncated)
	}
}

func TestHTTPSIsVerified(t *testing.T) {
	url, roots := secureServer(t)
	for name, c := range map[string]struct {
		cfg  *tls.Config
		want any // the error to find; nil: none
	}{
		"unknown root": {nil, new(x509.UnknownAuthorityError)},
		"other name":   {&tls.Config{RootCAs: roots, ServerName: "example.org"}, new(x509.HostnameError)},
		"its name":     {&tls.Config{RootCAs: roots, ServerName: "example.com"}, nil},
		"its address":  {&tls.Config{RootCAs: roots}, nil},
	} {
		cl := newClient(t, Config{TLS: c.cfg})
		_, err := cl.Get(within(t), url)
		if c.want == nil && err != nil ||
			c.want != nil && (kindOfError(err) != Dial || !errors.As(err, c.want)) {
			t.Errorf("%s: Get = %v, want %T", name, err, c.want)
		}
	}
}

// TestNoServer: the errors of dialing keep their cause.
func TestNoServer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	c := newClient(t, Config{})
	_, err = c.Get(within(t), "http://"+ln.Addr().String())
	var op *net.OpError
	if kindOfError(err) != Dial || !errors.As(err, &op) {
		t.Errorf("Get = %v, want %v with its cause", err, Dial)
	}
	if s := c.Stats(); s.Open != 0 {
		t.Errorf("%+v, want the place given back", s)
	}
}

// SPDX-License-Identifier: MIT

// Package transport lets an http.Client send its requests over a client.Client
// (contract row H11): redirects, cookies and timeouts stay those of net/http,
// framing, pool and deadlines are ours. It costs the allocations of net/http's
// types; who wants none uses package client.
//
// It does not decompress answers, sends no "Expect: 100-continue", knows no
// proxy, HTTP/2 or upgrade, and ignores httptrace.
package transport

import (
	"io"
	"net/http"
	"strings"

	"m0serve.dev/http/client"
	"m0serve.dev/http/wire"
)

// New makes an http.RoundTripper of c, whose deadlines, limits and UserAgent
// hold.
func New(c *client.Client) http.RoundTripper { return roundTripper{c} }

type roundTripper struct{ client *client.Client }

// RoundTrip implements http.RoundTripper.
func (t roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	s, err := t.client.Open(req.Context(), convert(req))
	if err != nil {
		return nil, err
	}
	resp := &http.Response{
		Status:     strings.TrimSpace(statusLine(&s.Response)),
		StatusCode: s.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: s.Minor,
		Header: header(s.Fields), ContentLength: s.ContentLength, Close: !s.KeepAlive,
		Request: req, Body: &body{stream: s},
	}
	if s.Minor == 0 {
		resp.Proto = "HTTP/1.0"
	}
	if s.Chunked {
		resp.TransferEncoding = []string{"chunked"}
	}
	for _, name := range s.Fields {
		if wire.EqualFold(name.Name, "trailer") {
			announce(resp, string(name.Value))
		}
	}
	resp.Body.(*body).resp = resp
	if !hasBody(req.Method, &s.Response) {
		_ = s.Close()
		resp.Body = http.NoBody
		if req.Method != "HEAD" {
			resp.ContentLength = 0
		}
	}
	return resp, nil
}

func statusLine(r *wire.Response) string {
	return string(append([]byte{byte('0' + r.Status/100), byte('0' + r.Status/10%10),
		byte('0' + r.Status%10), ' '}, r.Reason...))
}

func hasBody(method string, r *wire.Response) bool {
	return method != "HEAD" && wire.BodyAllowed(r.Status) && r.ContentLength != 0
}

// convert makes a Request. The fields that describe the connection are the
// client's, as they are net/http's there.
func convert(req *http.Request) *client.Request {
	// What is not allowed in a URL is encoded; what the client cannot send it refuses.
	out := &client.Request{Method: req.Method, Host: req.Host,
		URL: req.URL.Scheme + "://" + req.URL.Host + req.URL.RequestURI()}
	for name, values := range req.Header {
		if !sent(name) {
			continue
		}
		for _, value := range values {
			out.Fields = append(out.Fields, client.Field{Name: name, Value: value})
		}
	}
	_, idempotent := req.Header["Idempotency-Key"]
	_, other := req.Header["X-Idempotency-Key"]
	out.Idempotent = idempotent || other
	if req.Body == nil || req.Body == http.NoBody {
		return out
	}
	out.Stream, out.Length = req.Body, max(req.ContentLength, 0)
	if len(req.Trailer) > 0 && out.Length == 0 {
		out.Trailers = func() (fields []client.Field) {
			for name, values := range req.Trailer {
				for _, value := range values {
					fields = append(fields, client.Field{Name: name, Value: value})
				}
			}
			return fields
		}
	}
	return out
}

// sent reports whether a field of the application goes out.
func sent(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive",
		"Proxy-Connection", "Te", "Trailer", "Upgrade", "Expect":
		return false
	}
	return true
}

func header(fields []wire.Field) http.Header {
	h := make(http.Header, len(fields))
	for i := range fields {
		name := wire.CanonicalName(fields[i].Name)
		h[name] = append(h[name], string(fields[i].Value))
	}
	return h
}

// announce makes keys for the trailers that are to come.
func announce(resp *http.Response, names string) {
	for name := range strings.SplitSeq(names, ",") {
		if resp.Trailer == nil {
			resp.Trailer = make(http.Header)
		}
		resp.Trailer[http.CanonicalHeaderKey(strings.TrimSpace(name))] = nil
	}
}

// A body is a Stream that leaves its trailers in the response.
type body struct {
	stream *client.Stream
	resp   *http.Response
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.stream.Read(p)
	if err == io.EOF && len(b.stream.Trailers) > 0 {
		if b.resp.Trailer == nil {
			b.resp.Trailer = make(http.Header)
		}
		for name, values := range header(b.stream.Trailers) {
			b.resp.Trailer[name] = values
		}
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error { return b.stream.Close() }

// SPDX-License-Identifier: MIT

package wire

import (
	"fmt"
	"reflect"
)

// bodyMax is the limit of the server that the corpora describe.
const bodyMax = 10 << 20

// A served is one request that reached the application.
type served struct {
	method, target, path, query, host, body string
	minor                                   int
	length                                  int64
	keepAlive                               bool
	fields, trailers                        [][2]string
}

// An outcome is what a connection came to.
type outcome struct {
	requests []served
	status   []int // first answers in order; 408 stands for "waits for more"
	err      error
}

func (o outcome) equal(p outcome) bool {
	return reflect.DeepEqual(o, p)
}

func (o outcome) String() string {
	return fmt.Sprintf("%d requests, status %v, error %v", len(o.requests), o.status, o.err)
}

// serve is the smallest server around the parser: it gets in in pieces of these
// sizes, the last one again and again, and then the end of the connection.
func serve(in []byte, lim *Limits, sizes ...int) outcome {
	m := model{lim: lim}
	m.parser.Limits = lim
	for i := 0; i < len(in) && !m.closed; {
		piece := in[i:min(i+sizes[0], len(in))]
		m.feed(piece)
		i += len(piece)
		if len(sizes) > 1 {
			sizes = sizes[1:]
		}
	}
	m.end()
	return m.outcome
}

type model struct {
	outcome
	lim     *Limits
	parser  RequestParser
	req     Request
	decoder Decoder
	buf     []byte // bytes of an unfinished head
	inBody  bool
	closed  bool
}

func (m *model) feed(b []byte) {
	m.buf = append(m.buf, b...) // moves now and then, as buffers do
	for len(m.buf) > 0 && !m.closed {
		var more bool
		if m.inBody {
			more = m.feedBody()
		} else {
			more = m.feedHead()
		}
		if more {
			return
		}
	}
}

func (m *model) feedHead() (more bool) {
	n, err := m.parser.Parse(m.buf, &m.req)
	if err != nil {
		m.refuse(err)
		return true
	}
	if n == 0 {
		return true
	}
	m.requests = append(m.requests, m.copyHead())
	m.buf = m.buf[n:]
	if err := m.decoder.Start(&m.req, m.lim, bodyMax); err != nil {
		m.refuse(err)
		return true
	}
	m.inBody = true
	m.finishBody()
	return false
}

func (m *model) feedBody() (more bool) {
	data, n, err := m.decoder.Append(nil, m.buf)
	if err != nil {
		m.refuse(err)
		return true
	}
	m.buf = m.buf[n:]
	m.requests[len(m.requests)-1].body += string(data)
	m.finishBody()
	return false
}

func (m *model) finishBody() {
	if !m.decoder.Done() {
		return
	}
	m.inBody = false
	r := &m.requests[len(m.requests)-1]
	r.trailers = copyFields(m.decoder.Trailers)
	m.status = append(m.status, 200)
	m.closed = !r.keepAlive
}

// refuse ends the connection; a request whose body failed reached nobody.
func (m *model) refuse(err error) {
	if len(m.requests) > len(m.status) {
		m.requests = m.requests[:len(m.status)]
	}
	m.err, m.closed = err, true
	m.status = append(m.status, err.(Error).Status())
}

func (m *model) end() {
	switch {
	case m.closed:
	case m.inBody:
		m.refuse(m.decoder.End())
		m.status[len(m.status)-1] = 408
	case len(m.buf) > 0:
		m.refuse(ErrTruncated)
		m.status[len(m.status)-1] = 408
	}
}

func (m *model) copyHead() served {
	r := &m.req
	return served{
		method: string(r.Method), target: string(r.Target), path: string(r.Path),
		query: string(r.RawQuery), host: string(r.Host), minor: r.Minor,
		length: r.ContentLength, keepAlive: r.KeepAlive, fields: copyFields(r.Fields),
	}
}

func copyFields(fields []Field) [][2]string {
	var out [][2]string
	for _, f := range fields {
		if !f.Underscore {
			out = append(out, [2]string{string(f.Name), string(f.Value)})
		}
	}
	return out
}

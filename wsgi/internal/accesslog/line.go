// SPDX-License-Identifier: MIT

package accesslog

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"time"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/wire"
)

// noRequest stands for a request that could not be parsed. Read only.
var noRequest wire.Request

// A line is what one line is made of.
type line struct {
	answer *loop.Answer
	req    *wire.Request
	clock  *clock
	pid    int
}

// append appends the line without its end.
func (l *line) append(dst []byte, atoms []atom) []byte {
	l.req = &noRequest
	if l.answer.Exchange != nil {
		l.req = l.answer.Exchange.Request()
	}
	for i := range atoms {
		dst = l.appendAtom(dst, &atoms[i])
	}
	return dst
}

func (l *line) appendAtom(dst []byte, a *atom) []byte {
	switch a.op {
	case opText:
		return append(dst, a.text...)
	case opJSON:
		return l.appendJSON(dst)
	case opTime:
		return append(dst, l.clock.local...)
	case opStatus:
		return appendPadded(dst, int64(l.answer.Status), 3)
	case opBytes:
		return strconv.AppendInt(dst, l.answer.Bytes, 10)
	case opBytesOrDash:
		if l.answer.Bytes == 0 {
			return append(dst, '-')
		}
		return strconv.AppendInt(dst, l.answer.Bytes, 10)
	case opSeconds:
		return strconv.AppendInt(dst, int64(l.answer.Took/time.Second), 10)
	case opMillis:
		return strconv.AppendInt(dst, l.answer.Took.Milliseconds(), 10)
	case opMicros:
		return strconv.AppendInt(dst, l.answer.Took.Microseconds(), 10)
	case opDecimal:
		return appendSeconds(dst, l.answer.Took)
	}
	return l.appendOfRequest(dst, a)
}

// appendOfRequest appends what the peer or the application said.
func (l *line) appendOfRequest(dst []byte, a *atom) []byte {
	if l.answer.Exchange == nil {
		return append(dst, '-')
	}
	switch a.op {
	case opClient:
		return l.appendClient(dst)
	case opPort:
		return strconv.AppendUint(dst, uint64(l.answer.Exchange.Peer().Port()), 10)
	case opUser:
		return appendUser(dst, l.req)
	case opRequestLine:
		dst = append(appendValue(dst, l.req.Method), ' ')
		dst = append(appendValue(dst, l.req.Target), ' ')
		return append(dst, protocol(l.req)...)
	case opMethod:
		return appendValue(dst, l.req.Method)
	case opTarget:
		return appendValue(dst, l.req.Target)
	case opPath:
		return appendValue(dst, l.req.Path)
	case opQuery:
		return appendText8(dst, l.req.RawQuery) // empty is empty, as gunicorn has it
	case opProtocol:
		return append(dst, protocol(l.req)...)
	case opIn:
		value, _ := l.req.Field(a.text)
		return appendValue(dst, value)
	case opOut:
		return l.appendOut(dst, a.text)
	}
	panic("accesslog: an atom that nobody appends")
}

func (l *line) appendClient(dst []byte) []byte {
	if peer := l.answer.Exchange.Peer(); peer.IsValid() {
		return peer.Addr().AppendTo(dst)
	}
	return append(dst, '-')
}

// appendOut appends a field of the answer. The length is the engine's to write.
func (l *line) appendOut(dst []byte, lower string) []byte {
	if lower == "content-length" {
		return strconv.AppendInt(dst, l.answer.Bytes, 10)
	}
	value, _ := l.answer.Exchange.AnswerField(lower)
	return appendValue(dst, value)
}

func protocol(req *wire.Request) string {
	if req.Minor == 0 {
		return "HTTP/1.0"
	}
	return "HTTP/1.1"
}

// appendUser appends the user name of Basic credentials (RFC 7617).
func appendUser(dst []byte, req *wire.Request) []byte {
	value, found := req.Field("authorization")
	if !found || len(value) < len("Basic ") || !wire.EqualFold(value[:5], "basic") || value[5] != ' ' {
		return append(dst, '-')
	}
	value = bytes.Trim(value[6:], " ")
	var plain [192]byte
	value = value[:min(len(value), base64.StdEncoding.EncodedLen(len(plain)))]
	n, _ := base64.StdEncoding.Decode(plain[:], value) // what of it is right
	user, _, found := bytes.Cut(plain[:n], []byte{':'})
	if !found {
		return append(dst, '-')
	}
	return appendValue(dst, user)
}

// appendSeconds appends d as seconds with six digits behind the point.
func appendSeconds(dst []byte, d time.Duration) []byte {
	micros := max(d.Microseconds(), 0)
	dst = append(strconv.AppendInt(dst, micros/1e6, 10), '.')
	return appendPadded(dst, micros%1e6, 6)
}

// appendPadded appends n, which is not negative, with at least digits digits.
func appendPadded(dst []byte, n int64, digits int) []byte {
	for least := int64(10); digits > 1; digits-- {
		if n < least {
			for ; digits > 1; digits-- {
				dst = append(dst, '0')
			}
			break
		}
		least *= 10
	}
	return strconv.AppendInt(dst, n, 10)
}

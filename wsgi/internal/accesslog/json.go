// SPDX-License-Identifier: MIT

package accesslog

import (
	"strconv"

	"m0serve.dev/core/escape"
)

// appendJSON appends an object. What is not known is left out.
func (l *line) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"time":"`...)
	dst = l.clock.appendUTC(dst)
	dst = append(dst, '"')
	if x := l.answer.Exchange; x != nil {
		dst = append(dst, `,"remote":"`...)
		if peer := x.Peer(); peer.IsValid() {
			dst = peer.Addr().AppendTo(dst)
		}
		dst = append(dst, `","method":`...)
		dst = appendJSONValue(dst, l.req.Method)
		dst = append(dst, `,"path":`...)
		dst = appendJSONValue(dst, l.req.Path)
		dst = append(dst, `,"protocol":"`...)
		dst = append(dst, protocol(l.req)...)
		dst = append(dst, '"')
		dst = l.appendJSONFields(dst)
	}
	dst = append(dst, `,"status":`...)
	dst = strconv.AppendInt(dst, int64(l.answer.Status), 10)
	dst = append(dst, `,"bytes":`...)
	dst = strconv.AppendInt(dst, l.answer.Bytes, 10)
	dst = append(dst, `,"seconds":`...)
	dst = appendSeconds(dst, l.answer.Took)
	dst = append(dst, `,"pid":`...)
	dst = strconv.AppendInt(dst, int64(l.pid), 10)
	return append(dst, '}')
}

func (l *line) appendJSONFields(dst []byte) []byte {
	if len(l.req.Host) > 0 {
		dst = append(dst, `,"host":`...)
		dst = appendJSONValue(dst, l.req.Host)
	}
	if v, found := l.req.Field("referer"); found {
		dst = append(dst, `,"referer":`...)
		dst = appendJSONValue(dst, v)
	}
	if v, found := l.req.Field("user-agent"); found {
		dst = append(dst, `,"agent":`...)
		dst = appendJSONValue(dst, v)
	}
	return dst
}

func appendJSONValue(dst, value []byte) []byte {
	if len(value) <= valueMax {
		return escape.AppendBytes(dst, value)
	}
	dst = escape.AppendBytes(dst, value[:valueMax])
	return append(append(dst[:len(dst)-1], cutMark...), '"')
}

// SPDX-License-Identifier: MIT

package wire

import (
	"errors"
	"strconv"
	"time"
)

// The encoder refuses what would change the shape of a message.
var (
	ErrEncodeName   = errors.New("wire: field name is not a token")
	ErrEncodeValue  = errors.New("wire: control byte in a field value or reason")
	ErrEncodeStatus = errors.New("wire: status is not in 100 to 999")
	ErrEncodeLine   = errors.New("wire: request line has a space or control byte")
)

// Whole lines that are sent often.
const (
	LineClose     = "Connection: close\r\n"
	LineKeepAlive = "Connection: keep-alive\r\n"
	LineChunked   = "Transfer-Encoding: chunked\r\n"
	LineEnd       = "\r\n"
	LastChunk     = "0\r\n\r\n"                     // without trailers
	Continue      = "HTTP/1.1 100 Continue\r\n\r\n" // the whole interim response
)

// DateLen is the length of a date in the form servers send.
const DateLen = len("Mon, 02 Jan 2006 15:04:05 GMT")

// text is what names and values are made of.
type text interface{ ~string | ~[]byte }

// AppendStatusLine appends the status line with the registered reason. The
// status has to be valid, see ValidStatus.
func AppendStatusLine(dst []byte, status int) []byte {
	if status == 200 {
		return append(dst, "HTTP/1.1 200 OK\r\n"...)
	}
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	dst = append(dst, ' ')
	dst = append(dst, StatusText(status)...)
	return append(dst, "\r\n"...)
}

// AppendStatusReason appends the status line with a reason of the application.
func AppendStatusReason[T text](dst []byte, status int, reason T) ([]byte, error) {
	if !ValidStatus(status) {
		return dst, ErrEncodeStatus
	}
	if !ValidValue(reason) {
		return dst, ErrEncodeValue
	}
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	dst = append(dst, ' ')
	dst = append(dst, reason...)
	return append(dst, "\r\n"...), nil
}

// AppendField appends "name: value" CRLF, or returns dst as it was and an error
// when name is not a token or value has a control byte other than tab.
func AppendField[N, V text](dst []byte, name N, value V) ([]byte, error) {
	if !ValidName(name) {
		return dst, ErrEncodeName
	}
	if !ValidValue(value) {
		return dst, ErrEncodeValue
	}
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...), nil
}

// AppendRequestLine appends METHOD SP target SP HTTP/1.1 CRLF.
func AppendRequestLine[M, T text](dst []byte, method M, target T) ([]byte, error) {
	if !ValidName(method) || len(target) == 0 {
		return dst, ErrEncodeLine
	}
	for i := 0; i < len(target); i++ {
		if class[target[i]]&isQuery == 0 {
			return dst, ErrEncodeLine
		}
	}
	dst = append(dst, method...)
	dst = append(dst, ' ')
	dst = append(dst, target...)
	return append(dst, " HTTP/1.1\r\n"...), nil
}

// AppendContentLength appends the Content-Length line.
func AppendContentLength(dst []byte, n int64) []byte {
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, n, 10)
	return append(dst, "\r\n"...)
}

// AppendDate appends the Date line; date is the cached output of AppendTime.
func AppendDate(dst, date []byte) []byte {
	dst = append(dst, "Date: "...)
	dst = append(dst, date...)
	return append(dst, "\r\n"...)
}

// AppendTime appends t as IMF-fixdate (RFC 9110 section 5.6.7). A server
// formats once a second and passes the bytes to AppendDate.
func AppendTime(dst []byte, t time.Time) []byte {
	const days = "SunMonTueWedThuFriSat"
	const months = "JanFebMarAprMayJunJulAugSepOctNovDec"
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	wd, m := 3*int(t.Weekday()), 3*int(month-1)
	dst = append(dst, days[wd:wd+3]...)
	dst = append(dst, ", "...)
	dst = append(appendTwo(dst, day), ' ')
	dst = append(dst, months[m:m+3]...)
	dst = append(dst, ' ')
	dst = appendTwo(appendTwo(dst, year/100), year%100)
	dst = append(appendTwo(append(dst, ' '), hour), ':')
	dst = append(appendTwo(dst, minute), ':')
	return append(appendTwo(dst, second), " GMT"...)
}

func appendTwo(dst []byte, n int) []byte {
	return append(dst, byte('0'+n/10%10), byte('0'+n%10))
}

// AppendChunkHeader appends the line before a chunk of n bytes, n above 0. The
// data and LineEnd follow it.
func AppendChunkHeader(dst []byte, n int) []byte {
	const hex = "0123456789abcdef"
	shift := 0
	for n>>shift > 0xf {
		shift += 4
	}
	for ; shift >= 0; shift -= 4 {
		dst = append(dst, hex[n>>shift&0xf])
	}
	return append(dst, "\r\n"...)
}

// AppendChunk appends a whole chunk; nothing for no data, which would end the body.
func AppendChunk(dst, data []byte) []byte {
	if len(data) == 0 {
		return dst
	}
	dst = AppendChunkHeader(dst, len(data))
	dst = append(dst, data...)
	return append(dst, "\r\n"...)
}

// AppendLastChunk appends the end of a chunked body with trailers.
func AppendLastChunk(dst []byte, trailers []Field) ([]byte, error) {
	start := len(dst)
	dst = append(dst, "0\r\n"...)
	for i := range trailers {
		var err error
		if dst, err = AppendField(dst, trailers[i].Name, trailers[i].Value); err != nil {
			return dst[:start], err
		}
	}
	return append(dst, "\r\n"...), nil
}

// ValidName reports whether name is a token.
func ValidName[T text](name T) bool {
	for i := 0; i < len(name); i++ {
		if class[name[i]]&isToken == 0 {
			return false
		}
	}
	return len(name) > 0
}

// ValidValue reports whether value may stand in a field: no control byte but tab.
func ValidValue[T text](value T) bool {
	for i := 0; i < len(value); i++ {
		if class[value[i]]&isValue == 0 {
			return false
		}
	}
	return true
}

// ValidStatus reports whether status has three digits.
func ValidStatus(status int) bool { return status >= 100 && status <= 999 }

// SPDX-License-Identifier: MIT

package wire

import "time"

// DateLen is the length of a date in the form servers send.
const DateLen = len("Mon, 02 Jan 2006 15:04:05 GMT")

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

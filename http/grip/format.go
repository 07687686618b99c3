// SPDX-License-Identifier: MIT

package grip

import (
	"errors"
	"fmt"
	"strings"
)

// A directive is %verb or %(arg)verb in a text. In arg a backslash takes the
// character behind it as it is.
type directive struct {
	verb   byte
	arg    string
	hasArg bool
}

func (d directive) String() string {
	if d.hasArg {
		return fmt.Sprintf("%%(%.64s)%c", d.arg, d.verb)
	}
	return fmt.Sprintf("%%%c", d.verb)
}

var errDirective = errors.New(
	`a "%" stands alone at the end, or a "(" is not closed; a "%" is written %%`)

// appendFormat appends text to dst with %% as a percent sign and every directive
// replaced by what replace appends for it.
func appendFormat[T string | []byte](dst []byte, text T,
	replace func(dst []byte, d directive) ([]byte, error)) ([]byte, error) {
	start, size := len(dst), len(text)
	for i := 0; i < size; i++ {
		if text[i] != '%' {
			from := i
			for i++; i < size && text[i] != '%'; i++ {
			}
			dst = append(dst, text[from:i]...)
			i--
			continue
		}
		if i++; i < size && text[i] == '%' {
			dst = append(dst, '%')
			continue
		}
		d, n, err := cutDirective(text[i:])
		if err == nil {
			dst, err = replace(dst, d)
		}
		if err != nil {
			return dst[:start], err
		}
		i += n - 1
	}
	return dst, nil
}

// cutDirective reads the directive whose percent sign stands before text, and
// returns its length.
func cutDirective[T string | []byte](text T) (d directive, n int, err error) {
	if len(text) > 0 && text[0] == '(' {
		var arg strings.Builder
		for n = 1; n < len(text) && text[n] != ')'; n++ {
			if text[n] == '\\' && n+1 < len(text) {
				n++
			}
			arg.WriteByte(text[n])
		}
		n++
		d.arg, d.hasArg = arg.String(), true
	}
	if n >= len(text) {
		return d, n, errDirective
	}
	d.verb = text[n]
	return d, n + 1, nil
}

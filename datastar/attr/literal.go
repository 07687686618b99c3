// SPDX-License-Identifier: MIT

package attr

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Str is s as a string literal for an expression. It stays that string, whatever is in it.
func Str(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range s { // a byte that is no UTF-8 becomes U+FFFD
		writeRune(&b, r)
	}
	b.WriteByte('\'')
	return b.String()
}

// writeRune writes what neither JavaScript nor the client's own scanners take for anything else.
func writeRune(b *strings.Builder, r rune) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r < ' ', strings.ContainsRune("'\"`\\$@;&<>\x7f\u2028\u2029", r):
		fmt.Fprintf(b, `\u%04x`, r)
	case r > 0xffff:
		fmt.Fprintf(b, `\u{%x}`, r)
	default:
		b.WriteRune(r)
	}
}

// JSON is v as a literal for an expression: encoded as encoding/json does it, then made safe like
// Str. It panics when v cannot be encoded.
func JSON(v any) string {
	doc, err := json.Marshal(v)
	if err != nil {
		panic("attr: JSON of a value that has none: " + err.Error())
	}
	return safeJSON(doc)
}

// safeJSON writes as escapes what the client would look at. All of it stands in strings.
func safeJSON(doc []byte) string {
	var b strings.Builder
	for i := 0; i < len(doc); {
		r, n := utf8.DecodeRune(doc[i:])
		switch {
		case r == '\\' && (doc[i+1] == '"' || doc[i+1] == '\\'):
			fmt.Fprintf(&b, `\u%04x`, doc[i+1])
			n = 2
		case strings.ContainsRune("'`$@;", r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

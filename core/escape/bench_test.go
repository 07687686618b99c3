// SPDX-License-Identifier: MIT

package escape

import (
	"encoding/json"
	"strings"
	"testing"
)

var sink []byte

func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"20B", "twenty bytes of text"},
		{"1K", strings.Repeat("plain text, no escapes at all... ", 31)},
		{"1K_html", strings.Repeat(`<a href="/x?a=1&b=2">link</a> `, 34)},
		{"64K", strings.Repeat("plain text, no escapes at all... ", 1985)},
		{"1K_jp", strings.Repeat("日本語のテキスト、長めの文", 26)},
		{"1K_ru", strings.Repeat("русский текст ", 40)},
	} {
		b.Run("plain/"+c.name, func(b *testing.B) { run(b, c.text, AppendString) })
		b.Run("html/"+c.name, func(b *testing.B) { run(b, c.text, AppendHTMLString) })
		b.Run("std/"+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				sink, _ = json.Marshal(c.text)
			}
		})
		b.Run("floor_copy/"+c.name, func(b *testing.B) {
			run(b, c.text, func(dst []byte, s string) []byte { return append(dst, s...) })
		})
	}
}

func run(b *testing.B, text string, fn func([]byte, string) []byte) {
	dst := make([]byte, 0, 6*len(text)+32)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		sink = fn(dst, text)
	}
}

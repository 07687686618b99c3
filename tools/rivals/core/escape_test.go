// SPDX-License-Identifier: MIT

// Package core_test compares our hashes, JSON escape and JSON field finder with
// other libraries, and what they say of the same input with simdjson-go.
package core_test

import (
	"strings"
	"testing"

	sonic "github.com/bytedance/sonic/encoder"
	segmentio "github.com/segmentio/encoding/json"

	"m0serve.dev/core/escape"
)

// Texts of the sizes that targets are set for.
var (
	short    = "twenty bytes of text"
	plain1K  = strings.Repeat("plain text, no escapes at all... ", 31)
	html1K   = strings.Repeat(`<a href="/x?a=1&b=2">link</a> `, 34)
	plain64K = strings.Repeat("plain text, no escapes at all... ", 1985)
	utf1K    = strings.Repeat("日本語のテキスト、長めの文", 26)
)

func BenchmarkEscape(b *testing.B) {
	for _, c := range []struct {
		name, text string
		html       bool
	}{
		{"20B", short, false}, {"1K", plain1K, false}, {"1K_html", html1K, false},
		{"1K_html_safe", html1K, true}, {"64K", plain64K, false}, {"1K_utf8", utf1K, false},
	} {
		dst := make([]byte, 0, 6*len(c.text)+128)
		b.Run(c.name+"/ours", func(b *testing.B) { benchOurs(b, dst, c.text, c.html) })
		b.Run(c.name+"/segmentio", func(b *testing.B) { benchSegmentio(b, dst, c.text, c.html) })
		b.Run(c.name+"/sonic", func(b *testing.B) {
			var options sonic.Options
			if c.html {
				options = sonic.EscapeHTML
			}
			benchSonic(b, dst, c.text, options)
		})
		b.Run(c.name+"/sonic_validated", func(b *testing.B) {
			options := sonic.ValidateString
			if c.html {
				options |= sonic.EscapeHTML
			}
			benchSonic(b, dst, c.text, options)
		})
	}
}

func benchOurs(b *testing.B, dst []byte, text string, html bool) {
	b.ReportAllocs()
	if html {
		for b.Loop() {
			escape.AppendHTMLString(dst, text)
		}
		return
	}
	for b.Loop() {
		escape.AppendString(dst, text)
	}
}

func benchSegmentio(b *testing.B, dst []byte, text string, html bool) {
	var flags segmentio.AppendFlags
	if html {
		flags = segmentio.EscapeHTML
	}
	b.ReportAllocs()
	for b.Loop() {
		segmentio.AppendEscape(dst, text, flags)
	}
}

// benchSonic gives the text as an interface made beforehand, sonic's cheapest way.
func benchSonic(b *testing.B, dst []byte, text string, options sonic.Options) {
	var value any = text
	b.ReportAllocs()
	for b.Loop() {
		out := dst
		if err := sonic.EncodeInto(&out, value, options); err != nil {
			b.Fatal(err)
		}
	}
}

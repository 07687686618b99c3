// SPDX-License-Identifier: MIT

package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/buger/jsonparser"
	"github.com/valyala/fastjson"

	"m0serve.dev/core/field"
)

var small = []byte(`{"id":12345,"channel":"news","text":"hello world","on":true}`)

// docOf is an object of about size bytes whose last field is "last".
func docOf(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"first":"value"`)
	for i := 0; b.Len() < size-20; i++ {
		fmt.Fprintf(&b, `,"field%d":{"id":%d,"name":"some text","on":true,"list":[1,2.5,-3]}`,
			i, i*7919)
	}
	b.WriteString(`,"last":12345}`)
	return []byte(b.String())
}

// BenchmarkField looks one field up. jsonparser stops at it and checks nothing;
// fastjson and ours read and check the whole document.
func BenchmarkField(b *testing.B) {
	for _, c := range []struct {
		name, key string
		doc       []byte
	}{
		{"60B", "channel", small}, {"2K", "last", docOf(2 << 10)}, {"100K", "last", docOf(100 << 10)},
	} {
		b.Run(c.name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v, err := field.Get(c.doc, c.key); err != nil || !v.Exists() {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/jsonparser", func(b *testing.B) {
			for b.Loop() {
				if _, _, _, err := jsonparser.Get(c.doc, c.key); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/fastjson", func(b *testing.B) {
			var p fastjson.Parser
			for b.Loop() {
				if v, err := p.ParseBytes(c.doc); err != nil || v.Get(c.key) == nil {
					b.Fatal(err)
				}
			}
		})
	}
}

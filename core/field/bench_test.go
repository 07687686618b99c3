// SPDX-License-Identifier: MIT

package field

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

var (
	sinkBool  bool
	sinkValue Value
)

// benchDoc is an object of about size bytes whose last field is "last".
func benchDoc(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"first":"value"`)
	for i := 0; b.Len() < size-20; i++ {
		fmt.Fprintf(&b, `,"field%d":{"id":%d,"name":"some text","on":true,"list":[1,2.5,-3]}`, i, i*7919)
	}
	b.WriteString(`,"last":12345}`)
	return []byte(b.String())
}

func BenchmarkGet(b *testing.B) {
	small := []byte(`{"id":12345,"channel":"news","text":"hello world","on":true}`)
	for _, c := range []struct {
		name, key string
		doc       []byte
	}{
		{"empty", "channel", []byte("{}")},
		{"60B", "channel", small},
		{"2K_last", "last", benchDoc(2 << 10)},
		{"100K_last", "last", benchDoc(100 << 10)},
		{"escapes", "last", []byte(`{"a":"x\ny\tz \u00e9\u00e8","b":"\"quoted\"","last":"\\"}`)},
	} {
		b.Run("get/"+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.doc)))
			for b.Loop() {
				sinkValue, _ = Get(c.doc, c.key)
			}
		})
		b.Run("valid/"+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.doc)))
			for b.Loop() {
				sinkBool = Valid(c.doc)
			}
		})
		b.Run("std_valid/"+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.doc)))
			for b.Loop() {
				sinkBool = json.Valid(c.doc)
			}
		})
		b.Run("std_map/"+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.doc)))
			for b.Loop() {
				var m map[string]json.RawMessage
				sinkBool = json.Unmarshal(c.doc, &m) == nil
			}
		})
	}
}

// BenchmarkStops marks the ends of strings in a window, and in a small document.
func BenchmarkStops(b *testing.B) {
	doc := benchDoc(2 * windowBytes)
	for _, n := range []int{60, windowBytes} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var stops [windowWords]uint64
			b.SetBytes(int64(n))
			for b.Loop() {
				markStops(&stops, doc[:n])
			}
		})
	}
}

// BenchmarkDocument parses a document of 100 KB again and again.
func BenchmarkDocument(b *testing.B) {
	doc := benchDoc(100 << 10)
	var d Document
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		sinkBool = d.Parse(doc) == nil
	}
	b.ReportMetric(float64(len(d.entries)), "values")
}

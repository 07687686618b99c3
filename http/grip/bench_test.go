// SPDX-License-Identifier: MIT

package grip

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// event is an item as eventstream publishes it.
const event = `{"id":"5","prev-id":"4","channel":"events-test","meta":{"skip_users":"a,b"},` +
	`"http-stream":{"content-filters":["build-id"],` +
	`"content":"event: message\nid: %I\ndata: {\"text\": \"hello, world, 100%%\"}\n\n"}}`

func BenchmarkParseItems(b *testing.B) {
	for name, body := range map[string]string{
		"1":  `{"items":[` + event + `]}`,
		"10": `{"items":[` + strings.Repeat(event+",", 9) + event + `]}`,
		"1MB": `{"items":[{"channel":"a","http-stream":{"content":"` +
			strings.Repeat("x", 999_900) + `"}}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			body := []byte(body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseItems(body, checkName); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkItem encodes an item and reads it back, as it crosses the bus.
func BenchmarkItem(b *testing.B) {
	items, err := ParseItems([]byte(`{"items":[`+event+`]}`), checkName)
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendItem(buf[:0], &items[0])
		if _, err := ParseItem(buf); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFilters is what one stream of eventstream costs for one item.
func BenchmarkFilters(b *testing.B) {
	to, filters := stream(), Filters{BuildID, SkipUsers, RequireSub}
	item, made := Meta{{"skip_users", "a,b"}}, Filters{BuildID}
	content := []byte("event: message\nid: %I\ndata: {\"text\": \"hello, world, 100%%\"}\n\n")
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		if !filters.Fits(made) || !filters.Pass(item, to) {
			b.Fatal("the item is not for the stream")
		}
		var err error
		if buf, err = filters.Append(buf[:0], content, to); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseInstruct(b *testing.B) {
	for name, lines := range map[string]string{
		"none": "Content-Type: text/html\nVary: Cookie\nX-Frame-Options: DENY\nContent-Length: 5\n",
		"eventstream": "Content-Type: text/event-stream\nGrip-Hold: stream\n" +
			"Grip-Channel: events-test; prev-id=4; filter=build-id; filter=skip-users, " +
			"user-u; filter=require-sub\n" +
			"Grip-Set-Meta: id_format=\"test:%(events-test)s\", user=\"u\"\n" +
			"Grip-Keep-Alive: event: keep-alive\\ndata:\\n\\n; format=cstring; timeout=20\n" +
			"Grip-Link: </events/?link=next&recover=true>; rel=next\n",
	} {
		b.Run(name, func(b *testing.B) {
			var pairs []Pair
			for name, value := range fields(lines) {
				pairs = append(pairs, Pair{name, value})
			}
			b.ReportAllocs()
			for b.Loop() {
				_, err := ParseInstruct(func(yield func(string, string) bool) {
					for _, p := range pairs {
						if !yield(p.Name, p.Value) {
							return
						}
					}
				}, checkName)
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSign(b *testing.B) {
	key := []byte("changeme")
	b.ReportAllocs()
	for b.Loop() {
		Sign(Claims{Issuer: "realm", Expires: noon}, key)
	}
}

func BenchmarkVerify(b *testing.B) {
	key := []byte("changeme")
	token := Sign(Claims{Issuer: "realm", Expires: noon}, key)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Verify(token, key, noon.Add(-time.Hour)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSequence pushes items of a thousand channels in order.
func BenchmarkSequence(b *testing.B) {
	var s Sequence
	items := make([]*Item, 1<<16)
	for i := range items {
		items[i] = &Item{Channel: fmt.Sprint(i % 1000), ID: fmt.Sprint(i)}
	}
	var ready []*Item
	now, n := noon, 0
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Millisecond)
		ready = s.Push(ready[:0], items[n%len(items)], now)
		n++
	}
}

func BenchmarkParseEvents(b *testing.B) {
	body := []byte("TEXT 5\r\nhello\r\nTEXT 5\r\nworld\r\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseEvents(body); err != nil {
			b.Fatal(err)
		}
	}
}

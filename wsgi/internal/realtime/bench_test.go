// SPDX-License-Identifier: MIT

package realtime

import (
	"log/slog"
	"testing"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/grip"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
)

// A reader is a connection that takes what it gets.
type reader struct{ slot *sse.Slot }

func (r *reader) Wake() {
	for r.slot.NextFrame() != nil {
	}
}

func (r *reader) Close(loop.Ending) { /* nothing is kept */ }

// BenchmarkItem delivers one item to a thousand streams; the figure is for one stream.
func BenchmarkItem(b *testing.B) {
	const streams = 1000
	for name, filters := range map[string]grip.Filters{
		"shared":     nil,
		"skip-users": {grip.SkipUsers},
		"build-id":   {grip.BuildID, grip.SkipUsers},
	} {
		b.Run(name, func(b *testing.B) {
			hub := sse.NewHub(sse.HubConfig{Bus: bus.Local()})
			s := New(Config{Hub: hub, Log: slog.New(slog.DiscardHandler)})
			for range streams {
				st := &stream{s: s, isEvents: true, in: newSubscriber(&grip.Instruct{
					Channels: []grip.Channel{{Name: "a", PrevID: "1", Filters: filters}},
					Meta:     grip.Meta{{Name: "user", Value: "ann"}, {Name: "id_format", Value: "a:%(a)s"}},
				})}
				slot, err := hub.Attach(sse.HoldOptions{Channels: []string{"a"}, Pass: st.pass})
				if err != nil {
					b.Fatal(err)
				}
				slot.Park(&reader{slot}, false)
			}
			it := &grip.Item{Channel: "a", Stream: &grip.Stream{
				Content: []byte("event: message\nid: %I\ndata: a message of a usual length\n\n")}}
			b.ReportAllocs()
			for b.Loop() {
				s.deliver(it)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/streams, "ns/stream")
		})
	}
}

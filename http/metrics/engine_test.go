// SPDX-License-Identifier: MIT

package metrics

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
)

// until polls ok.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}

// fill gives every number in v a value of its own, above those that are there
// anyway.
func fill(v reflect.Value, next *uint64) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), next)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), next)
		}
	case reflect.Uint64:
		*next++
		v.SetUint(*next)
	case reflect.Int, reflect.Int64:
		*next++
		v.SetInt(int64(*next))
	}
}

// TestEveryCounterOfTheEngineIsShown: one that the engine gains has to be, too.
func TestEveryCounterOfTheEngineIsShown(t *testing.T) {
	var stats loop.Stats
	next := uint64(1000)
	fill(reflect.ValueOf(&stats).Elem(), &next)
	r := New()
	Engine(r, func() loop.Stats { return stats })
	got := parse(t, r)
	shown := map[float64]bool{}
	for _, v := range got {
		shown[v] = true
	}
	v := reflect.ValueOf(stats)
	for i := range v.NumField() {
		if v.Field(i).CanConvert(reflect.TypeFor[float64]()) &&
			!shown[v.Field(i).Convert(reflect.TypeFor[float64]()).Float()] {
			t.Errorf("loop.Stats.%s is not shown", v.Type().Field(i).Name)
		}
	}
	b := stats.Turns.Buckets
	wants(t, got, map[string]float64{
		"m0_connections":                             float64(stats.Conns),
		`m0_handovers_total{cause="late_route"}`:     float64(stats.Pooled),
		`m0_loop_turn_seconds_bucket{le="0.000016"}`: float64(b[0]),
		`m0_loop_turn_seconds_bucket{le="0.000032"}`: float64(b[0] + b[1]),
		"m0_loop_turn_seconds_sum":                   stats.Turns.Total.Seconds(),
	})
}

func TestStreams(t *testing.T) {
	stats := sse.HubStats{Lost: 7, JournalBytes: 8, Bus: bus.Stats{Published: 9,
		Channels: []bus.ChannelStats{{Dropped: 1}, {Dropped: 2, QueuedBytes: 3}}}}
	stats.Streams, stats.Queued, stats.QueuedBytes = 4, 5, 6
	stats.Drops = map[string]sse.Drops{"news": {Frames: [4]uint64{1, 2, 0, 0}, Late: 3}}
	r := New()
	Streams(r, func() sse.HubStats { return stats })
	wants(t, parse(t, r), map[string]float64{
		"m0_streams": 4, "m0_stream_queue_frames": 5, "m0_stream_queue_bytes": 6,
		"m0_journal_bytes": 8, "m0_bus_published_total": 9,
		`m0_bus_dropped_total{to="1"}`: 2, `m0_bus_queue_bytes{to="1"}`: 3,
		`m0_stream_frames_lost_total{channel="news",cause="disconnect"}`:  1,
		`m0_stream_frames_lost_total{channel="news",cause="drop-oldest"}`: 2,
		`m0_stream_frames_lost_total{channel="news",cause="late"}`:        3,
		`m0_stream_frames_lost_total{channel="",cause="bus"}`:             7,
	})
}

// TestChannelsAreBounded: so many channels have a name, the others are one, and what
// was shown under a name stays there.
func TestChannelsAreBounded(t *testing.T) {
	var stats sse.HubStats
	r := New()
	Streams(r, func() sse.HubStats { return stats })
	lost := func(channel string) string {
		return fmt.Sprintf(`m0_stream_frames_lost_total{channel=%q,cause="late"}`, channel)
	}
	stats.Drops = map[string]sse.Drops{"zz": {Late: 1}, "other": {Late: 2}}
	wants(t, parse(t, r), map[string]float64{lost("zz"): 1, lost("other"): 2})
	for i := range 100 {
		stats.Drops[fmt.Sprintf("c%03d", i)] = sse.Drops{Late: 1}
	}
	stats.Drops[sse.OtherChannels] = sse.Drops{Late: 5}
	got := parse(t, r)
	named := ChannelsMax - 1 // and zz
	wants(t, got, map[string]float64{
		lost("zz"): 1, lost("c000"): 1, lost(fmt.Sprintf("c%03d", named-1)): 1,
		lost("other"): float64(2 + 5 + 100 - named),
	})
	if v, found := got[lost(fmt.Sprintf("c%03d", named))]; found {
		t.Errorf("%d channels are named, and one more with %v", ChannelsMax, v)
	}
}

// TestHubIsShown takes the figures off a hub that works.
func TestHubIsShown(t *testing.T) {
	b := bus.Local()
	defer b.Close()
	hub := sse.NewHub(sse.HubConfig{Bus: b, Limits: sse.Limits{Frames: 2, Policy: sse.DropOldest}})
	hub.Start()
	slot, err := hub.Attach(sse.HoldOptions{Channels: []string{"a"}, Hello: []byte{}})
	if err != nil {
		t.Fatal(err)
	}
	defer slot.Closed(loop.ClosedByServer)
	for range 5 {
		if _, err := hub.PublishEvent("a", sse.Event{Data: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	r := New()
	Streams(r, hub.Stats)
	const lost = `m0_stream_frames_lost_total{channel="a",cause="drop-oldest"}`
	until(t, func() bool { return parse(t, r)[lost] == 3 })
	got := parse(t, r)
	if got["m0_stream_queue_frames"] != 2 || got["m0_stream_queue_bytes"] == 0 ||
		got["m0_listeners"] != 1 {
		t.Errorf("frames, bytes, listeners = %v, %v, %v; want 2, some, 1", got["m0_stream_queue_frames"],
			got["m0_stream_queue_bytes"], got["m0_listeners"])
	}
}

func TestWorkers(t *testing.T) {
	r := New()
	Workers(r, func() []Worker {
		return []Worker{{Index: 0, Connections: 3, Handoffs: 1, Drops: 5},
			{Index: 0, Connections: 2, Handoffs: 2}, {Index: 1, Connections: 10, Taken: 4}}
	})
	wants(t, parse(t, r), map[string]float64{
		`m0_worker_processes{worker="0"}`: 2, "m0_service_processes": 3,
		`m0_worker_connections{worker="0"}`: 5, `m0_worker_connections{worker="1"}`: 10,
		"m0_service_connections": 15, `m0_worker_handoffs_total{worker="0"}`: 3,
		"m0_service_handoffs_total": 3, "m0_service_taken_total": 4, "m0_service_bus_drops_total": 5,
	})
}

// FuzzLabel: no text breaks the document, and it comes back as it was.
func FuzzLabel(f *testing.F) {
	for _, s := range []string{"", "a", "\"", "\\", "\n", `\n`, "\\\"\n", "\xff", "é", "a\r\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := New()
		r.Counters(Family{Name: "c", Help: s}, "l").With(s).Inc()
		got := names(parse(t, r))
		label := strings.TrimSuffix(strings.TrimPrefix(got[0], `c_total{l="`), `"}`)
		back := strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(label)
		if want := strings.ToValidUTF8(s, "\uFFFD"); back != want {
			t.Errorf("label %q comes back as %q of %q", s, back, label)
		}
	})
}

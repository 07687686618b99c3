// SPDX-License-Identifier: MIT

package metrics

import (
	"maps"
	"slices"
	"strconv"
	"sync"

	"m0serve.dev/http/sse"
)

// ChannelsMax is how many channels are named in the samples of lost frames. The
// first that lose some are; the rest is counted together, as OtherLabel.
const ChannelsMax = 64

// Streams shows what a hub counts: held streams, what waits for them, frames that
// were lost by channel and cause, journals, and the bus; stats is Hub.Stats.
func Streams(r *Registry, stats func() sse.HubStats) {
	collectAll(r, HubReadings(), stats)
	named := &channels{names: map[string]bool{}}
	r.Collect(Family{Name: "m0_stream_frames_lost", Kind: KindCounter,
		Help: "Frames that streams did not get; those of the bus have no channel."},
		func(w *Writer) {
			s := stats()
			for _, lost := range named.lost(s.Drops) {
				for cause, n := range lost.drops.Frames {
					Whole(w, n, "channel", lost.name, "cause", sse.Policy(cause).String())
				}
				Whole(w, lost.drops.Late, "channel", lost.name, "cause", "late")
			}
			Whole(w, s.Lost, "channel", "", "cause", "bus")
		})
}

// HubReadings are the families of a hub, without the frames that were lost.
func HubReadings() []Reading[sse.HubStats] {
	type stats = sse.HubStats
	of := func(kind Kind, name, unit, help string, each func(s *stats, w *Writer)) Reading[stats] {
		return Reading[stats]{Family{Name: name, Unit: unit, Help: help, Kind: kind}, each}
	}
	return []Reading[stats]{
		of(KindGauge, "m0_streams", "", "Streams that are held, whatever their channels.",
			func(s *stats, w *Writer) { Whole(w, s.Streams) }),
		of(KindGauge, "m0_listeners", "",
			"What else has channels: long polls, WebSockets, subscriptions.",
			func(s *stats, w *Writer) { Whole(w, s.Attached) }),
		of(KindCounter, "m0_streams_opened", "", "Streams that were opened.",
			func(s *stats, w *Writer) { Whole(w, s.Opened) }),
		of(KindGauge, "m0_stream_queue_frames", "", "Frames that wait for their streams.",
			func(s *stats, w *Writer) { Whole(w, s.Queued) }),
		of(KindGauge, "m0_stream_queue_bytes", "bytes", "Bytes of frames that wait for their streams.",
			func(s *stats, w *Writer) { Whole(w, s.QueuedBytes) }),
		of(KindGauge, "m0_journal_bytes", "bytes", "Memory of the journals.",
			func(s *stats, w *Writer) { Whole(w, s.JournalBytes) }),
		of(KindCounter, "m0_bus_published", "", "Frames this worker published.",
			func(s *stats, w *Writer) { Whole(w, s.Bus.Published) }),
		of(KindCounter, "m0_bus_received", "", "Frames this worker read.",
			func(s *stats, w *Writer) { Whole(w, s.Bus.Received) }),
		of(KindCounter, "m0_bus_refused", "", "Frames that were too large, or were none.",
			func(s *stats, w *Writer) {
				Whole(w, s.Bus.TooLarge, "cause", "too_large")
				Whole(w, s.Bus.Damaged, "cause", "damaged")
			}),
		of(KindCounter, "m0_bus_dropped", "", "Frames lost because the queue to a sibling was full.",
			func(s *stats, w *Writer) {
				for i, c := range s.Bus.Channels {
					Whole(w, c.Dropped, "to", strconv.Itoa(i))
				}
			}),
		of(KindGauge, "m0_bus_queue_bytes", "bytes", "Frames that wait for a sibling.",
			func(s *stats, w *Writer) {
				for i, c := range s.Bus.Channels {
					Whole(w, c.QueuedBytes, "to", strconv.Itoa(i))
				}
			}),
	}
}

// channels are the names that are shown. Once shown a name stays, so that no
// counter goes back.
type channels struct {
	mu    sync.Mutex
	names map[string]bool
}

// A lostOf is the frames that were lost of one channel, or of all others.
type lostOf struct {
	name  string
	drops sse.Drops
}

// lost sorts drops into those of channels that are shown and the others.
func (c *channels) lost(drops map[string]sse.Drops) (all []lostOf) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var other sse.Drops
	for _, name := range slices.Sorted(maps.Keys(drops)) {
		d := drops[name]
		switch {
		case c.names[name], len(c.names) < ChannelsMax && !isOther(name):
			c.names[name] = true
			all = append(all, lostOf{name, d})
		default:
			for i, n := range d.Frames {
				other.Frames[i] += n
			}
			other.Late += d.Late
		}
	}
	if len(all) == ChannelsMax || other.Total() > 0 {
		all = append(all, lostOf{OtherLabel, other})
	}
	return all
}

// isOther reports whether a name would be taken for the others together.
func isOther(name string) bool { return name == sse.OtherChannels || name == OtherLabel }

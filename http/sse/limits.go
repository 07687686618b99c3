// SPDX-License-Identifier: MIT

package sse

import "fmt"

// A Policy says what happens to a stream whose queue is full.
type Policy uint8

const (
	// Disconnect cuts the stream after the frame in hand, so that its client
	// comes back with the id it had last and is caught up from the journal.
	Disconnect Policy = iota
	// DropOldest forgets the frames that wait longest, for state where the
	// newest is all that counts.
	DropOldest
	// DropNewest forgets the frame that does not fit.
	DropNewest
	// Coalesce lets a frame take the place of a waiting one of its channel and
	// kind, full or not; what does not fit even so drops the oldest.
	Coalesce

	policies = iota
)

// String is the policy's name as counters show it.
func (p Policy) String() string {
	if p >= policies {
		return "unknown"
	}
	return [...]string{"disconnect", "drop-oldest", "drop-newest", "coalesce"}[p]
}

// Limits bound what may wait for one stream.
type Limits struct {
	Frames int    // frames in the queue; 0: 1024
	Bytes  int    // their bytes; 0: 1 MiB
	Policy Policy // zero: Disconnect
	// Gap encodes the announcement that frames are missing, sent where they are
	// missing; under Disconnect the cut announces it. It is called with locks
	// held, so it only encodes. nil: an event called "gap" with their number.
	Gap func(missing int) []byte
}

// A burst of short events has to fit while the loop does something else for some
// milliseconds: it says nothing of how fast the client reads. What a slow one costs is
// bounded by the bytes.
const (
	framesDefault = 1024
	bytesDefault  = 1 << 20
)

func (l *Limits) frames() int {
	if l.Frames <= 0 {
		return framesDefault
	}
	return l.Frames
}

func (l *Limits) bytes() int {
	if l.Bytes <= 0 {
		return bytesDefault
	}
	return l.Bytes
}

func (l *Limits) gap(missing int) []byte {
	if l.Gap != nil {
		return l.Gap(missing)
	}
	return fmt.Appendf(nil, "event: gap\ndata: %d\n\n", missing)
}

// SPDX-License-Identifier: MIT

package pglisten

import "time"

// Stats is what a Listener has done and how it is. Received is Published and
// Refused together.
type Stats struct {
	Connected  bool      // LISTENs, as far as is known
	Since      time.Time // of Connected as it is; zero before Run
	Received   uint64    // notifications
	Published  uint64
	Refused    Refused
	Reconnects uint64    // LISTENs after the first
	LastError  string    // why the link was lost or could not be made; "" if it never was
	LastAt     time.Time // of LastError
}

// Refused counts notifications that were not published.
type Refused struct {
	Malformed uint64 // no JSON object of channel, event and data
	NotText   uint64 // a field that is no string, as row_to_json makes them
	Reserved  uint64 // a channel of the server's own
	BadName   uint64 // a channel or event that cannot be one
	Failed    uint64 // Config.Publish returned an error
}

// Total is all of them.
func (r Refused) Total() uint64 {
	return r.Malformed + r.NotText + r.Reserved + r.BadName + r.Failed
}

// count counts one notification.
func (s *Stats) count(c cause) {
	s.Received++
	switch c {
	case accepted:
		s.Published++
	case malformed:
		s.Refused.Malformed++
	case notText:
		s.Refused.NotText++
	case reserved:
		s.Refused.Reserved++
	case badName:
		s.Refused.BadName++
	case unpublished:
		s.Refused.Failed++
	}
}

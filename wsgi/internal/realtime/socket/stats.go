// SPDX-License-Identifier: MIT

package socket

// Stats are the counters of Sockets, but for Open and Waiting.
type Stats struct {
	Open       int    // sockets there are
	Waiting    int    // sockets that wait for their turn to ask
	Opened     uint64 // in all
	Refused    uint64 // openings that were none, or came from foreign pages
	Received   uint64 // messages of clients
	Sent       uint64 // messages to them
	Asked      uint64 // requests to the application
	Invalid    uint64 // closed: an answer that said what cannot be done
	Busy       uint64 // closed: the server was full
	Slow       uint64 // closed: the client did not keep up, or the bus lost frames
	Violations uint64 // closed: the client broke the protocol or a limit
	Silent     uint64 // cut: the client answered no ping
}

// Stats returns the counters.
func (s *Sockets) Stats() Stats {
	o := s.options.Stats()
	st := Stats{
		Open: int(o.Opened - o.Closed), Opened: o.Opened, Refused: s.refused.Load() + o.Refused,
		Received: o.MessagesIn, Sent: o.MessagesOut, Asked: s.asked.Load(), Invalid: s.wrong.Load(),
		Busy: s.busy.Load(), Slow: s.slow.Load() + o.Overflows, Violations: o.Violations,
		Silent: o.PingTimeouts,
	}
	s.mu.Lock()
	st.Waiting = len(s.queue)
	s.mu.Unlock()
	return st
}

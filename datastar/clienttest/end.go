// SPDX-License-Identifier: MIT

package clienttest

import (
	"fmt"
	"net/http"
)

// A Reason says why a tab has ended.
type Reason uint8

// The reasons.
const (
	EndClosed  Reason = iota // Close was called
	EndClean                 // the stream came to its end, "finished" to the page
	EndStatus                // an answer that the mode does not retry
	EndAnswer                // an answer of 200 that is no stream
	EndRetries               // as many waits in a row as are allowed
)

// An EndError is what Next returns once the tab has ended and its events are
// read: the page stays as it is until it is loaded again.
type EndError struct {
	Reason Reason
	Status int // of the last answer, 0 for none
}

// Error implements error.
func (e *EndError) Error() string {
	switch e.Reason {
	case EndClosed:
		return "clienttest: the tab was closed"
	case EndClean:
		return "clienttest: the stream ended cleanly, the client stays away"
	case EndRetries:
		return "clienttest: the client gave up after its last retry"
	}
	return fmt.Sprintf("clienttest: the client stays away after status %d", e.Status)
}

func reasonOf(res result) Reason {
	switch {
	case res.status != http.StatusOK:
		return EndStatus
	case !res.stream:
		return EndAnswer
	}
	return EndClean
}

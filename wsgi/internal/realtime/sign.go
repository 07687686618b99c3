// SPDX-License-Identifier: MIT

package realtime

import (
	"sync/atomic"
	"time"

	"m0serve.dev/http/grip"
)

// signedFor is how long a signature is good for.
const signedFor = time.Hour

// A Signer makes Grip-Sig, by which an application knows that a server which holds
// answers is in front of it. Its methods may be called from any goroutine.
type Signer struct {
	key    []byte
	issuer string
	last   atomic.Pointer[signature]
}

// A signature is the one of a second: what says the same is the same text.
type signature struct {
	second int64
	text   string
}

// NewSigner signs with a key in the name of an issuer.
func NewSigner(key []byte, issuer string) *Signer { return &Signer{key: key, issuer: issuer} }

// Signature is Grip-Sig for a request of this moment.
func (s *Signer) Signature(now time.Time) string {
	second := now.Unix()
	if last := s.last.Load(); last != nil && last.second == second {
		return last.text
	}
	text := grip.Sign(grip.Claims{Issuer: s.issuer, Expires: now.Add(signedFor)}, s.key)
	s.last.Store(&signature{second, text})
	return text
}

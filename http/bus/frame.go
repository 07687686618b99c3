// SPDX-License-Identifier: MIT

package bus

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of one frame, in bytes. They are part of the wire format between the
// processes of one service.
const (
	MaxChannel = 512     // longest channel name
	MaxKind    = 255     // longest kind
	MaxBody    = 4 << 20 // longest body
)

// reservedMark opens the names that the server keeps for itself.
const reservedMark = '\x01'

// Errors that a caller may ask for with errors.Is. A frame refused by the
// first four reached nobody.
var (
	ErrReserved = errors.New("bus: channel name is reserved for the server")
	ErrName     = errors.New("bus: bad channel name")
	ErrKind     = errors.New("bus: bad kind")
	ErrTooLarge = errors.New("bus: body is too large")
	ErrRefused  = errors.New("bus: frame dropped")
	ErrClosed   = errors.New("bus: closed")
	ErrPage     = errors.New("bus: bad shared page")
)

// NoOrigin is the origin of a frame from a process that is no worker.
const NoOrigin = ^uint32(0)

// A Frame is one event on its way to every worker. It is a value; Channel,
// Kind and Body are immutable once it is published, since one body may be in
// the hands of every stream of the process.
type Frame struct {
	ID      uint64 // from NextID; 0: outside the order, delivered as it arrives
	Channel string // see CheckName
	Kind    string // the event's name; may be empty
	Origin  uint32 // index of the worker that sent it, or NoOrigin; stamped by the bus
	Body    []byte // the encoded event
}

// ordered reports whether a receiver puts f in its place by id.
func (f *Frame) ordered() bool { return f.ID != 0 }

// IsReserved reports whether name belongs to the server (contract row B4).
func IsReserved(name string) bool { return name != "" && name[0] == reservedMark }

// CheckName says why an untrusted name is no channel to publish to or to
// subscribe to: ErrReserved when it opens with \x01, ErrName when it is empty,
// longer than MaxChannel, not UTF-8, or has a control byte (such a name cannot
// cross a header, a log line or a NOTIFY unchanged). Every door calls it.
func CheckName(name string) error {
	switch {
	case IsReserved(name):
		return ErrReserved
	case name == "":
		return fmt.Errorf("%w: it is empty", ErrName)
	case len(name) > MaxChannel:
		return fmt.Errorf("%w: %d bytes, at most %d", ErrName, len(name), MaxChannel)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: %.64q is not UTF-8", ErrName, name)
	case strings.ContainsFunc(name, isControl):
		return fmt.Errorf("%w: %.64q has a control byte", ErrName, name)
	}
	return nil
}

// CheckKind says why kind cannot name an event: ErrKind when it is longer than
// MaxKind, not UTF-8, or has a control byte. The empty kind is fine.
func CheckKind(kind string) error {
	switch {
	case len(kind) > MaxKind:
		return fmt.Errorf("%w: %d bytes, at most %d", ErrKind, len(kind), MaxKind)
	case !utf8.ValidString(kind):
		return fmt.Errorf("%w: %.64q is not UTF-8", ErrKind, kind)
	case strings.ContainsFunc(kind, isControl):
		return fmt.Errorf("%w: %.64q has a control byte", ErrKind, kind)
	}
	return nil
}

// checkReserved is CheckName for the server's own names.
func checkReserved(name string) error {
	switch {
	case !IsReserved(name):
		return fmt.Errorf("%w: %.64q is not reserved, publish it", ErrName, name)
	case len(name) > MaxChannel:
		return fmt.Errorf("%w: %d bytes, at most %d", ErrName, len(name), MaxChannel)
	}
	return nil
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// A RefusedError names the channels that dropped a frame; the others have it.
// It is ErrRefused for errors.Is.
type RefusedError struct {
	Channels []int // indexes, ascending
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("bus: frame dropped by channels %v", e.Channels)
}

// Is reports whether target is ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

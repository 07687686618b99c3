// SPDX-License-Identifier: MIT

package datastar

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"m0serve.dev/core/escape"
)

// ErrSignal refuses the path of a signal that has an empty name in it.
var ErrSignal = errors.New("datastar: an empty name in the path of a signal")

// SignalsOptions are those of patch-signals.
type SignalsOptions struct {
	Common
	OnlyIfMissing bool // set only signals that the page does not have
}

// AppendPatchSignals appends the event that merges the JSON object into the
// page's signals (RFC 7386: null removes one). The text is sent as it is, also
// over several lines. It has to come from an encoder: what is not JSON the
// client runs as JavaScript. Nothing is appended when it returns an error.
func AppendPatchSignals(dst, object []byte, o SignalsOptions) ([]byte, error) {
	if err := o.check(); err != nil {
		return dst, err
	}
	dst = o.append(dst, "datastar-patch-signals")
	if o.OnlyIfMissing {
		dst = append(dst, "data: onlyIfMissing true\n"...)
	}
	l := lines{dst: dst, key: "data: signals "}
	if len(object) == 0 {
		l.writeString("{}") // the client wants a line
	}
	l.write(object)
	return l.finish(), nil
}

// AppendRemoveSignals appends the event that removes signals. A dot in a path
// leads into an object: "user.name". Nothing is appended when it returns an
// error.
func AppendRemoveSignals(dst []byte, o SignalsOptions, paths ...string) ([]byte, error) {
	var tree removal
	for _, path := range paths {
		if slices.Contains(strings.Split(path, "."), "") {
			return dst, ErrSignal
		}
		tree.add(path)
	}
	return AppendPatchSignals(dst, tree.append(nil), o)
}

// A removal says which signals below it go; without any it goes itself.
type removal struct{ below map[string]*removal }

func (m *removal) add(path string) {
	name, rest, deeper := strings.Cut(path, ".")
	if m.below == nil {
		m.below = make(map[string]*removal)
	}
	next, known := m.below[name]
	switch {
	case !deeper:
		m.below[name] = &removal{} // with all that is below
	case !known:
		next = &removal{}
		m.below[name] = next
		next.add(rest)
	case next.below != nil:
		next.add(rest)
	}
}

// append writes it as a JSON merge patch.
func (m *removal) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(m.below)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(escape.AppendString(dst, name), ':')
		if next := m.below[name]; next.below != nil {
			dst = next.append(dst)
		} else {
			dst = append(dst, "null"...)
		}
	}
	return append(dst, '}')
}

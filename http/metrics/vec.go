// SPDX-License-Identifier: MIT

package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// SeriesMax is how many combinations of label values a family has at most.
	SeriesMax = 1000
	// OtherLabel is every label of what comes beyond that.
	OtherLabel = "other"
)

// A Vec is one instrument for each combination of label values. Its methods may be
// called from any goroutine. mu guards making a series; finding one takes no lock.
type Vec[T any] struct {
	labels []string
	fresh  func() *T
	table  atomic.Pointer[table[T]]
	mu     sync.Mutex
}

// A table never changes once it is shown.
type table[T any] struct {
	byKey map[string]*series[T]
	list  []*series[T] // in order of their making
}

type series[T any] struct {
	labels []string // name and value in turns
	one    *T
}

func newVec[T any](labels []string, fresh func() *T) *Vec[T] {
	v := &Vec[T]{labels: labels, fresh: fresh}
	v.table.Store(&table[T]{})
	return v
}

// keyRoom is for the values of a series on the stack; longer ones allocate.
const keyRoom = 256

// With is the instrument of these values, one for each label, in order. It is made
// when there is none yet; once SeriesMax were made it is the one of OtherLabel.
// Keep what With returns where it is asked for again and again with the same values.
func (v *Vec[T]) With(values ...string) *T {
	if len(values) != len(v.labels) {
		panic(fmt.Sprintf("metrics: %d values for the labels %q", len(values), v.labels))
	}
	var room [keyRoom]byte
	key := appendKey(room[:0], values)
	if s := v.table.Load().byKey[string(key)]; s != nil {
		return s.one
	}
	return v.add(values)
}

// appendKey joins values by a byte that is in no UTF-8.
func appendKey(dst []byte, values []string) []byte {
	for _, value := range values {
		dst = append(dst, value...)
		dst = append(dst, 0xff)
	}
	return dst
}

// add makes the series. Values that read the same when they are shown are one.
func (v *Vec[T]) add(values []string) *T {
	values = slices.Clone(values)
	for i, value := range values {
		values[i] = strings.ToValidUTF8(strings.Clone(value), "\uFFFD") // it may point into a request
	}
	key := string(appendKey(nil, values))
	v.mu.Lock()
	defer v.mu.Unlock()
	old := v.table.Load()
	if len(old.list) >= SeriesMax {
		other := slices.Repeat([]string{OtherLabel}, len(v.labels))
		key, values = string(appendKey(nil, other)), other
	}
	if s := old.byKey[key]; s != nil {
		return s.one
	}
	s := &series[T]{one: v.fresh()}
	for i, name := range v.labels {
		s.labels = append(s.labels, name, values[i])
	}
	fresh := &table[T]{byKey: maps.Clone(old.byKey), list: append(slices.Clip(old.list), s)}
	if fresh.byKey == nil {
		fresh.byKey = map[string]*series[T]{}
	}
	fresh.byKey[key] = s
	v.table.Store(fresh)
	return s.one
}

// each calls show for every series there is.
func (v *Vec[T]) each(show func(one *T, labels []string)) {
	for _, s := range v.table.Load().list {
		show(s.one, s.labels)
	}
}

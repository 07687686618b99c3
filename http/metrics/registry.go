// SPDX-License-Identifier: MIT

package metrics

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A Registry is the families that one process shows. New makes one; families are
// made at start, observations and reading go on together. mu guards the list.
type Registry struct {
	mu       sync.Mutex
	names    map[string]bool
	families []collected
}

// A collected family shows itself.
type collected struct {
	family Family
	each   func(w *Writer)
}

// New makes an empty registry.
func New() *Registry { return &Registry{names: map[string]bool{}} }

// Counter makes a family of one counter.
func (r *Registry) Counter(f Family) *Counter { return r.Counters(f).With() }

// Counters makes a family of counters with these labels.
func (r *Registry) Counters(f Family, labels ...string) *Vec[Counter] {
	v := newVec(labels, func() *Counter { return &Counter{} })
	r.add(f, KindCounter, labels, func(w *Writer) {
		v.each(func(c *Counter, labels []string) { Whole(w, c.Value(), labels...) })
	})
	return v
}

// Gauge makes a family of one gauge.
func (r *Registry) Gauge(f Family) *Gauge { return r.Gauges(f).With() }

// Gauges makes a family of gauges with these labels.
func (r *Registry) Gauges(f Family, labels ...string) *Vec[Gauge] {
	v := newVec(labels, func() *Gauge { return &Gauge{} })
	r.add(f, KindGauge, labels, func(w *Writer) {
		v.each(func(g *Gauge, labels []string) { Whole(w, g.Value(), labels...) })
	})
	return v
}

// Histogram makes a family of one histogram; see NewHistogram for the bounds.
func (r *Registry) Histogram(f Family, bounds []float64) *Histogram {
	return r.Histograms(f, bounds).With()
}

// Histograms makes a family of histograms with these labels.
func (r *Registry) Histograms(f Family, bounds []float64, labels ...string) *Vec[Histogram] {
	NewHistogram(bounds) // panics here rather than at the first observation
	v := newVec(labels, func() *Histogram { return NewHistogram(bounds) })
	r.add(f, KindHistogram, labels, func(w *Writer) {
		v.each(func(h *Histogram, labels []string) {
			counts, sum := h.Snapshot()
			w.Histogram(bounds, counts, sum, labels...)
		})
	})
	return v
}

// Info makes a family that shows what something is; labels are name and value in
// turns.
func (r *Registry) Info(f Family, labels ...string) {
	var names []string
	for i := 0; i < len(labels); i += 2 {
		names = append(names, labels[i])
	}
	r.add(f, KindInfo, names, func(w *Writer) { w.Sample(1, labels...) })
}

// Collect makes a family of f.Kind whose samples each writes when somebody asks. It
// may be called from several goroutines at once, and answers for its label names.
func (r *Registry) Collect(f Family, each func(w *Writer)) { r.add(f, f.Kind, nil, each) }

// add panics when f is not in order or there is one of its name.
func (r *Registry) add(f Family, kind Kind, labels []string, each func(w *Writer)) {
	f.Kind = kind
	err := f.Check()
	for i, name := range labels {
		if !isName(name, false) || strings.HasPrefix(name, "__") || name == "le" ||
			slices.Contains(labels[:i], name) {
			err = fmt.Errorf("%q is no label, or there twice", name)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names[f.Name] {
		err = errors.New("there is one of this name")
	}
	if err != nil {
		panic(fmt.Sprintf("metrics: family %q: %v", f.Name, err))
	}
	r.names[f.Name] = true
	r.families = append(r.families, collected{f, each})
}

// Check says what is wrong with the names of f.
func (f Family) Check() error {
	if !isName(f.Name, true) {
		return errors.New("no name")
	}
	for _, end := range [...]string{"_total", "_created", "_bucket", "_count", "_sum", "_info"} {
		if strings.HasSuffix(f.Name, end) {
			return fmt.Errorf("the ending %s is given to samples", end)
		}
	}
	if f.Unit != "" && !strings.HasSuffix(f.Name, "_"+f.Unit) {
		return fmt.Errorf("the name has to end with the unit %q", f.Unit)
	}
	if f.Unit != "" && f.Kind == KindInfo {
		return errors.New("an info has no unit")
	}
	return nil
}

// isName reports whether s is a name of the two formats, which have colons in
// those of families alone.
func isName(s string, colon bool) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case c == ':' && colon, i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return s != ""
}

// Append appends everything there is to show, in the format of contentType.
func (r *Registry) Append(dst []byte, contentType string) []byte {
	r.mu.Lock()
	families := r.families // it only grows
	r.mu.Unlock()
	w := NewWriter(dst, contentType)
	for _, f := range families {
		w.Base()
		w.Begin(f.family)
		f.each(w)
	}
	return w.Close()
}

// SPDX-License-Identifier: MIT

package grip

import "iter"

// A Pair is a name with a value: one entry of metadata, one header field.
type Pair struct{ Name, Value string }

// All are the names and values of a list, for those who read fields.
func All(list []Pair) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, p := range list {
			if !yield(p.Name, p.Value) {
				return
			}
		}
	}
}

// Meta is the metadata of a connection (Grip-Set-Meta) or of an item (meta). No
// name occurs twice.
type Meta []Pair

// Get returns the value called name, "" when there is none.
func (m Meta) Get(name string) string {
	value, _ := m.Lookup(name)
	return value
}

// Lookup returns the value called name and whether there is one.
func (m Meta) Lookup(name string) (value string, found bool) {
	for i := range m {
		if m[i].Name == name {
			return m[i].Value, true
		}
	}
	return "", false
}

// With returns m with name set to value. m itself stays as it is.
func (m Meta) With(name, value string) Meta {
	return m.Without(name).set(name, value)
}

// Without returns m without name, in memory of its own.
func (m Meta) Without(name string) Meta {
	kept := make(Meta, 0, len(m)+1)
	for _, p := range m {
		if p.Name != name {
			kept = append(kept, p)
		}
	}
	return kept
}

// set sets name in place.
func (m Meta) set(name, value string) Meta {
	for i := range m {
		if m[i].Name == name {
			m[i].Value = value
			return m
		}
	}
	return append(m, Pair{name, value})
}

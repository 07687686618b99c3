// SPDX-License-Identifier: MIT

package grip

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// A decoder reads JSON values and keeps the first thing that is wrong; what is
// read behind that is empty.
type decoder struct{ err error }

func (d *decoder) fail(field, value, format string, args ...any) {
	if d.err == nil {
		d.err = wrong(field, value, format, args...)
	}
}

// An object is a JSON object whose values are read by name. null is absence, and
// the last of several with one name counts.
type object struct {
	d       *decoder
	path    string // "" at the top
	members []member
}

// A member is one name of an object with its value.
type member struct {
	name  []byte
	value []byte
}

// document reads the object that a whole body is.
func (d *decoder) document(body []byte) object {
	if !json.Valid(body) {
		d.notA("a JSON object", "", body)
		return object{d: d}
	}
	return d.object("", bytes.TrimSpace(body))
}

// object reads raw, which is valid JSON and called path.
func (d *decoder) object(path string, raw []byte) object {
	o := object{d: d, path: path}
	if d.err != nil || raw[0] != '{' {
		d.notA("a JSON object", path, raw)
		return o
	}
	var name []byte
	for part := range elements(raw) {
		if name == nil {
			name = unquote(part)
			continue
		}
		o.members = append(o.members, member{name, part})
		name = nil
	}
	return o
}

// notA fails because raw is no want.
func (d *decoder) notA(want, path string, raw []byte) {
	if path == "" {
		path = "body"
	}
	d.fail(path, string(raw[:min(len(raw), valueMax+1)]), "want %s", want)
}

// name is the path of a value in o.
func (o *object) name(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

// get returns the value called key, nil when there is none.
func (o *object) get(key string) []byte {
	if o.d.err != nil {
		return nil
	}
	for i := len(o.members) - 1; i >= 0; i-- {
		if string(o.members[i].name) == key {
			if value := o.members[i].value; string(value) != "null" {
				return value
			}
			return nil
		}
	}
	return nil
}

func (o *object) has(key string) bool { return o.get(key) != nil }

func (o *object) text(key string) string { return string(o.bytes(key)) }

// bytes is text without a copy of its own.
func (o *object) bytes(key string) []byte {
	raw := o.get(key)
	if raw == nil {
		return nil
	}
	return o.d.text(o.name(key), raw)
}

func (d *decoder) text(path string, raw []byte) []byte {
	if raw[0] != '"' {
		d.notA("a string", path, raw)
		return nil
	}
	return unquote(raw)
}

func (o *object) flag(key string) bool {
	raw := string(o.get(key))
	if raw != "" && raw != "true" && raw != "false" {
		o.d.notA("true or false", o.name(key), []byte(raw))
	}
	return raw == "true"
}

// whole reads a whole number from least to most; other where there is none.
func (o *object) whole(key string, least, most, other int) int {
	raw := o.get(key)
	if raw == nil {
		return other
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < least || n > most {
		o.d.notA(fmt.Sprintf("a number from %d to %d", least, most), o.name(key), raw)
	}
	return n
}

// list returns the elements of the list called key.
func (o *object) list(key string) [][]byte {
	raw := o.get(key)
	if raw == nil {
		return nil
	}
	return o.d.list(o.name(key), raw)
}

func (d *decoder) list(path string, raw []byte) [][]byte {
	if raw[0] != '[' {
		d.notA("a list", path, raw)
		return nil
	}
	return slices.Collect(elements(raw))
}

// inner reads the object called key; ok is false where there is none.
func (o *object) inner(key string) (in object, ok bool) {
	raw := o.get(key)
	if raw == nil {
		return object{d: o.d}, false
	}
	return o.d.object(o.name(key), raw), true
}

// content reads bytes, as text or in base64; ok is false where neither is.
func (o *object) content(text, binary string) (content []byte, isBinary, ok bool) {
	switch {
	case o.has(binary):
		coded := o.text(binary)
		content, err := decodeBase64(coded)
		if err != nil {
			o.d.fail(o.name(binary), coded, "want base64")
		}
		return content, true, true
	case o.has(text):
		return append([]byte{}, o.bytes(text)...), false, true
	}
	return nil, false, false
}

// pairs reads an object of strings, in its order.
func (o *object) pairs(key string, most int) []Pair {
	in, _ := o.inner(key)
	if len(in.members) > most {
		o.d.fail(o.name(key), "", "%d names, at most %d", len(in.members), most)
		return nil
	}
	var pairs Meta
	for _, m := range in.members {
		name := string(m.name)
		pairs = pairs.set(name, in.text(name))
	}
	return pairs
}

// filters reads a list of filters; nil where there is none.
func (o *object) filters(key string) Filters {
	raw := o.get(key)
	if raw == nil {
		return nil
	}
	list := o.list(key)
	if len(list) > MaxFilters {
		o.d.fail(o.name(key), "", "%d filters, at most %d", len(list), MaxFilters)
		return nil
	}
	filters := make(Filters, 0, len(list))
	for i, raw := range list {
		path := fmt.Sprintf("%s[%d]", o.name(key), i)
		name := string(o.d.text(path, raw))
		f, err := ParseFilter(name)
		if err != nil {
			o.d.fail(path, name, "%w", err)
		}
		filters = append(filters, f)
	}
	return filters
}

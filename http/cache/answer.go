// SPDX-License-Identifier: MIT

package cache

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"m0serve.dev/http/etag"
	"m0serve.dev/http/middleware"
)

// entryBytes is what an answer costs beside its texts.
const entryBytes = 512

// An answer is one that is kept. It is never written once it is made.
type answer struct {
	status  int
	fields  fields // of the handler; once it is made, those of one hop are left out
	values  int    // of all fields
	body    []byte
	vary    []string // names, sorted
	variant string   // what the request said in them
	tags    []string
	pattern string // of the route, for logs
	life    lifetime

	// Room for the fields of most answers, so that all of it is one piece of memory.
	length, date [1]string // the values of Content-Length and Date
	someFields   [4]field
	someValues   [3]string
}

// A field is one of an answer. Vary is not among them.
type field struct {
	name   string
	values []string
}

// hop are the fields that are for the next hop alone (RFC 9110 section 7.6.1),
// and those that are made anew for each client.
var hop = [...]string{
	"Age", "Connection", "Content-Length", "Keep-Alive", "Proxy-Authenticate",
	"Proxy-Authentication-Info", "Proxy-Connection", "Te", "Transfer-Encoding", "Upgrade", "Vary",
}

// fields are some of a header, few enough to look at all of them.
type fields []field

// of are the values of the field with that canonical name.
func (list fields) of(name string) []string {
	for i := range list {
		if list[i].name == name {
			return list[i].values
		}
	}
	return nil
}

// get is the first value of a field, "" for none.
func (list fields) get(name string) string { return first(list.of(name)) }

// snapshot is what h has, whose values are h's.
func snapshot(h http.Header) fields {
	if len(h) == 0 {
		return nil
	}
	list := make(fields, 0, len(h))
	for name, values := range h {
		list = append(list, field{name, values})
	}
	return list
}

// difference is what is set in h and was not before, with room for a Date. It lies in
// a where it fits.
func (a *answer) difference(h http.Header, before fields) fields {
	own, room := fields(a.someFields[:0]), a.someValues[:0]
	if len(h) >= cap(own) {
		own = make(fields, 0, len(h)+1)
		room = make([]string, 0, len(h)) // most have one value
	}
	for name, values := range h {
		if old := before.of(name); old == nil || !slices.Equal(old, values) {
			start := len(room)
			room = append(room, values...)
			own = append(own, field{name, room[start:len(room):len(room)]})
		}
	}
	return own
}

// newAnswer makes an answer of what the handler has set.
func (u *run) newAnswer(status int, body []byte) *answer {
	a := u.made
	a.status, a.body, a.pattern = status, trimmed(body), u.inner.Pattern
	a.variant = string(appendVariant(nil, a.vary, &u.inner))
	own, dated := a.fields, false
	connection := strings.Join(own.of("Connection"), ",")
	a.fields = own[:0]
	for _, f := range own {
		switch {
		case f.name == u.c.cfg.TagField:
			a.tags = splitTags(f.values)
		case len(f.values) == 0, slices.Contains(hop[:], f.name), names(connection, f.name):
		default:
			a.fields = append(a.fields, f)
			a.values += len(f.values)
			dated = dated || f.name == "Date"
		}
	}
	a.length[0] = strconv.Itoa(len(a.body))
	if !dated { // or a client takes it for one of the moment it is sent
		a.date[0] = u.c.date(a.life.made)
		a.fields = append(a.fields, field{"Date", a.date[:]})
		a.values++
	}
	return a
}

// A stamp is a Date.
type stamp struct {
	second int64
	text   string
}

// date is made once a second.
func (c *Cache) date(at time.Time) string {
	s := c.stamp.Load()
	if s == nil || s.second != at.Unix() {
		s = &stamp{at.Unix(), at.UTC().Format(http.TimeFormat)}
		c.stamp.Store(s)
	}
	return s.text
}

// trimmed is body, without much room behind it.
func trimmed(body []byte) []byte {
	if cap(body)-len(body) > len(body)/4 {
		return slices.Clone(body)
	}
	return body
}

// names reports whether the list names the field.
func names(list, name string) bool {
	if list == "" {
		return false
	}
	for item := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.Trim(item, " \t"), name) {
			return true
		}
	}
	return false
}

func splitTags(values []string) (tags []string) {
	for _, v := range values {
		tags = append(tags, strings.FieldsFunc(v, func(c rune) bool {
			return c == ',' || c == ' ' || c == '\t'
		})...)
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// size is what the answer costs under a key.
func (a *answer) size(key string) int64 {
	n := entryBytes + 2*len(key) + len(a.body) + len(a.variant)
	for _, f := range a.fields {
		n += len(f.name) + 32
		for _, v := range f.values {
			n += len(v) + 16
		}
	}
	for _, t := range a.tags {
		n += len(t) + 32
	}
	return int64(n)
}

// fits reports whether the answer is one for r (RFC 9111 section 4.1).
func (a *answer) fits(r *http.Request) bool {
	var room [128]byte
	return string(appendVariant(room[:0], a.vary, r)) == a.variant
}

// appendVariant appends what r says in the fields. A field that is missing and
// one that is empty are two things.
func appendVariant(dst []byte, vary []string, r *http.Request) []byte {
	for _, name := range vary {
		values := r.Header[name]
		switch {
		case name == "Host":
			dst = append(append(dst, 0, '='), r.Host...)
			continue
		case len(values) == 0:
			dst = append(dst, 0, '-')
			continue
		}
		dst = append(dst, 0, '=')
		for i, v := range values {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, strings.Trim(v, " \t")...)
		}
	}
	return dst
}

// age is how old the answer is.
func (a *answer) age(now time.Time) time.Duration { return max(now.Sub(a.life.made), 0) }

// send answers r from the cache. Values are copied, apart from the length: what
// is kept is never in the hands of others.
func (a *answer) send(w http.ResponseWriter, r *http.Request, now time.Time) {
	h := w.Header()
	room := make([]string, 0, a.values+1)
	for _, f := range a.fields {
		start := len(room)
		room = append(room, f.values...)
		h[f.name] = room[start:len(room):len(room)]
	}
	middleware.AddVary(h, a.vary...)
	room = append(room, strconv.FormatInt(int64(a.age(now)/time.Second), 10))
	h["Age"] = room[len(room)-1 : len(room) : len(room)]
	if a.pattern != "" {
		r.Pattern = a.pattern
	}
	a.write(w, r)
}

// write answers r; the header has the fields of the answer already.
func (a *answer) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if a.isHeldBy(r, h) {
		etag.NotModified(w)
		return
	}
	if a.status != http.StatusNoContent {
		h["Content-Length"] = a.length[:]
	}
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead && len(a.body) > 0 {
		_, _ = w.Write(a.body) // the peer may be gone: nobody is left to tell
	}
}

// isHeldBy reports whether the client has the answer already (RFC 9110 section
// 13.2.2). h has the fields of the answer.
func (a *answer) isHeldBy(r *http.Request, h http.Header) bool {
	if a.status != http.StatusOK {
		return false
	}
	if lines := r.Header["If-None-Match"]; len(lines) > 0 {
		tag := first(h["Etag"])
		for _, line := range lines {
			if etag.Match(line, tag, false) {
				return true
			}
		}
		return false
	}
	since, modified := first(r.Header["If-Modified-Since"]), first(h["Last-Modified"])
	if since == "" || modified == "" {
		return false
	}
	if since == modified {
		return true
	}
	asked, err := http.ParseTime(since)
	at, err2 := http.ParseTime(modified)
	return err == nil && err2 == nil && !at.After(asked)
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// SPDX-License-Identifier: MIT

package publish

import (
	"encoding/json"
	"strconv"
	"strings"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/wire"
)

// A reply is what is answered. Without a status, nothing: there is nobody left.
type reply struct {
	status      int
	text        string // one line
	id          uint64 // of the event; 0: none
	dropped     int    // items that some worker did not take
	name, value string // one more field; "": none
}

func published() reply { return reply{status: 200, text: "Published"} }

func invalid(err error) reply {
	return reply{status: 400, text: "Invalid format: " + reason(err)}
}

// reason is an error without the name of the package, for those who know no Go.
func reason(err error) string {
	text := err.Error()
	for _, prefix := range []string{"publish: ", "grip: ", "bus: ", "sse: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}

// write answers x, in JSON or in a line of text.
func (r *reply) write(x *loop.Exchange, asJSON bool) {
	if r.status == 0 {
		x.Abort()
		return
	}
	body, kind := r.line(), "text/plain; charset=utf-8"
	if asJSON {
		body, kind = r.document(), "application/json"
	}
	x.SetStatus(r.status)
	_ = x.Field("Content-Type", kind) // this and the next are constants
	if r.name != "" {
		_ = x.Field(r.name, r.value)
	}
	_, _ = x.Write(body) // the peer may be gone
}

func (r *reply) line() []byte {
	text := r.text
	if r.dropped > 0 {
		text += ", but a worker did not take " + strconv.Itoa(r.dropped)
	}
	return append([]byte(text), '\n')
}

func (r *reply) document() []byte {
	told := struct {
		Message string `json:"message"`
		ID      string `json:"id,omitempty"`
		Dropped int    `json:"dropped,omitempty"`
	}{Message: r.text, Dropped: r.dropped}
	if r.id != 0 {
		told.ID = strconv.FormatUint(r.id, 10)
	}
	body, err := json.Marshal(told)
	if err != nil {
		panic("publish: strings and numbers have no JSON: " + err.Error())
	}
	return append(body, '\n')
}

// acceptsJSON chooses between JSON and text by Accept (RFC 9110 section 12.5.1);
// ok is false when neither will do. Text it is where the client does not care.
func acceptsJSON(req *wire.Request) (isJSON, ok bool) {
	text, json := ranked{}, ranked{}
	found := false
	for _, f := range req.Fields {
		if !strings.EqualFold(string(f.Name), "Accept") || len(f.Value) == 0 {
			continue
		}
		found = true
		for item := range strings.SplitSeq(string(f.Value), ",") {
			text.match(item, "text/plain")
			json.match(item, "application/json")
		}
	}
	if !found {
		return false, true
	}
	if json.q == 0 && text.q == 0 {
		return false, false
	}
	return json.q > text.q || json.q == text.q && json.exact > text.exact, true
}

// A ranked is the most exact range of an Accept field for one type.
type ranked struct {
	exact int // 1: */*, 2: type/*, 3: the type
	q     float64
}

// match takes item if it is more exact than what was there.
func (r *ranked) match(item, kind string) {
	name, params, _ := strings.Cut(item, ";")
	family, _, _ := strings.Cut(kind, "/")
	exact := 0
	switch strings.ToLower(strings.TrimSpace(name)) {
	case kind:
		exact = 3
	case family + "/*":
		exact = 2
	case "*/*":
		exact = 1
	}
	if exact <= r.exact {
		return
	}
	r.exact, r.q = exact, 1
	for p := range strings.SplitSeq(params, ";") {
		if q, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(p)), "q="); ok {
			r.q, _ = strconv.ParseFloat(q, 64) // 0 for a word
		}
	}
}

// SPDX-License-Identifier: MIT

package middleware

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
)

// A Problem is an error as RFC 9457 puts it on the wire. The zero value is a
// 500 that says nothing more.
type Problem struct {
	Type     string         // URI of the kind of problem; "" is about:blank
	Title    string         // "" is the text of Status
	Status   int            // 0 is 500
	Detail   string         // this occurrence, for a person; never internals
	Instance string         // URI of this occurrence
	Extra    map[string]any // extension members; the five names above win
}

// Error makes a Problem an error, so that a handler can return one.
func (p Problem) Error() string {
	p = p.filled()
	if p.Detail == "" {
		return fmt.Sprintf("%d %s", p.Status, p.Title)
	}
	return fmt.Sprintf("%d %s: %s", p.Status, p.Title, p.Detail)
}

func (p Problem) filled() Problem {
	if p.Status == 0 {
		p.Status = http.StatusInternalServerError
	}
	if p.Title == "" {
		p.Title = http.StatusText(p.Status)
	}
	return p
}

// WriteProblem answers with the problem as application/problem+json. Fields of
// the header that describe the answer that was meant (its length, encoding,
// validators) are taken out; all others stay. The id of the request, where it has
// one, becomes the extension member request_id. An extension member that cannot
// be encoded drops the extensions, never the answer.
func WriteProblem(w http.ResponseWriter, r *http.Request, p Problem) {
	p = p.filled()
	if id := RequestIDOf(r.Context()); id != "" && p.Extra["request_id"] == nil {
		p.Extra = maps.Clone(p.Extra)
		if p.Extra == nil {
			p.Extra = make(map[string]any, 1)
		}
		p.Extra["request_id"] = id
	}
	doc, err := p.encode()
	if err != nil {
		p.Extra = nil
		doc, _ = p.encode()
	}
	h := w.Header()
	for _, name := range []string{"Content-Encoding", "Etag", "Last-Modified", "Content-Range"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(doc)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	_, _ = w.Write(doc) // the peer may be gone: nobody is left to tell
}

func (p Problem) encode() ([]byte, error) {
	members := make(map[string]any, len(p.Extra)+5)
	maps.Copy(members, p.Extra)
	members["title"], members["status"] = p.Title, p.Status
	for name, v := range map[string]string{
		"type": p.Type, "detail": p.Detail, "instance": p.Instance,
	} {
		delete(members, name)
		if v != "" {
			members[name] = v
		}
	}
	return json.Marshal(members)
}

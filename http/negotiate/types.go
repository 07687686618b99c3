// SPDX-License-Identifier: MIT

package negotiate

import (
	"fmt"
	"net/http"
	"strings"

	"m0serve.dev/http/middleware"
	"m0serve.dev/http/wire"
)

// offersMax bounds the representations of one resource.
const offersMax = 16

// How exactly a range names a media type; the number of parameters that fit
// comes on top of rankExact.
const (
	rankNone   = iota // no range fits
	rankAny           // */*
	rankFamily        // text/*
	rankExact         // text/html
)

// Types are the media types that a resource is offered in. They are never
// written after NewTypes, so that any number of goroutines may use them.
type Types struct {
	offers []offer
	json   int // index of the offer that is JSON, or that of the first one
}

// An offer is one media type.
type offer struct {
	text       string // as given, and as chosen
	kind       string // text/html
	family     string // text
	parameters string
}

// NewTypes makes Types of media types such as "text/html" or
// "text/plain;format=flowed", best first. It panics on what is no media type,
// on none and on more than 16.
func NewTypes(offers ...string) *Types {
	if len(offers) == 0 || len(offers) > offersMax {
		panic(fmt.Sprintf("negotiate: %d media types: want 1 to %d", len(offers), offersMax))
	}
	t := &Types{json: -1}
	for i, text := range offers {
		kind, params, _ := strings.Cut(text, ";")
		kind = trim(kind)
		family, sub, ok := strings.Cut(kind, "/")
		if !ok || !wire.ValidName(family) || !wire.ValidName(sub) || strings.Contains(kind, "*") {
			panic(fmt.Sprintf("negotiate: %q is no media type", text))
		}
		t.offers = append(t.offers, offer{text, kind, family, params})
		if t.json < 0 && strings.EqualFold(kind, "application/json") {
			t.json = i
		}
	}
	t.json = max(t.json, 0)
	return t
}

// Best chooses by the values of Accept. Where nothing fits ok is false and kind
// is what a client without wishes gets, for those who rather send something
// than a 406 (RFC 9110 section 12.4.1 leaves the choice).
func (t *Types) Best(accept []string) (kind string, ok bool) {
	var ranks, weights [offersMax]int
	said := false
	for _, list := range accept {
		for list != "" {
			var it item
			it, list = next(list)
			if !isRange(it.name) {
				continue
			}
			said = true
			for i := range t.offers {
				if rank := t.offers[i].rank(&it); rank > ranks[i] ||
					rank == ranks[i] && rank > rankNone && it.weight > weights[i] {
					ranks[i], weights[i] = rank, it.weight
				}
			}
		}
	}
	if !said {
		return t.offers[t.json].text, true
	}
	best := -1
	for i := range t.offers {
		if weights[i] > 0 && (best < 0 || weights[i] > weights[best] ||
			weights[i] == weights[best] && t.isNearer(i, best, &ranks)) {
			best = i
		}
	}
	if best < 0 {
		return t.offers[t.json].text, false
	}
	return t.offers[best].text, true
}

// isNearer decides between two offers of one weight; i comes after best.
func (t *Types) isNearer(i, best int, ranks *[offersMax]int) bool {
	if ranks[i] != ranks[best] {
		return ranks[i] > ranks[best]
	}
	return i == t.json && ranks[i] == rankAny
}

// isRange tells a media range from what is none.
func isRange(s string) bool {
	family, sub, ok := strings.Cut(s, "/")
	return ok && wire.ValidName(family) && wire.ValidName(sub) &&
		(sub == "*" || family != "*" && !strings.Contains(s, "*"))
}

// rank is how exactly the range names the offer.
func (o *offer) rank(it *item) int {
	rank := rankExact
	switch family, sub, _ := strings.Cut(it.name, "/"); {
	case family == "*":
		rank = rankAny
	case sub == "*" && strings.EqualFold(family, o.family):
		rank = rankFamily
	case !strings.EqualFold(it.name, o.kind):
		return rankNone
	}
	params := it.params
	for more := params != ""; more; {
		var key, value string
		key, value, params, more = nextParam(params)
		if key == "" || isWeight(key) || isUTF8(key, value) {
			continue
		}
		if !o.has(key, value) {
			return rankNone
		}
		if rank >= rankExact {
			rank++
		}
	}
	return rank
}

func isUTF8(key, value string) bool {
	return strings.EqualFold(key, "charset") && strings.EqualFold(strings.Trim(value, `"`), "utf-8")
}

// has reports whether the offer has the parameter. Names are compared without
// case, values as they are, quoted or not.
func (o *offer) has(key, value string) bool {
	params := o.parameters
	for more := params != ""; more; {
		var k, v string
		k, v, params, more = nextParam(params)
		if strings.EqualFold(k, key) && strings.Trim(v, `"`) == strings.Trim(value, `"`) {
			return true
		}
	}
	return false
}

// Choose chooses for r, says in Vary that it did, and answers 406 with a
// problem document that lists what there is when nothing fits.
func (t *Types) Choose(w http.ResponseWriter, r *http.Request) (kind string, ok bool) {
	middleware.AddVary(w.Header(), "Accept")
	kind, ok = t.Best(r.Header["Accept"])
	if !ok {
		available := make([]string, len(t.offers))
		for i := range t.offers {
			available[i] = t.offers[i].text
		}
		middleware.WriteProblem(w, r, middleware.Problem{
			Status: http.StatusNotAcceptable,
			Detail: "this is available as " + strings.Join(available, ", "),
			Extra:  map[string]any{"available": available},
		})
		return "", false
	}
	return kind, true
}

// SPDX-License-Identifier: MIT

package negotiate

import "strings"

// Encoding chooses a content coding by the values of Accept-Encoding (RFC 9110
// section 12.5.3) from offers, best first; "" is no coding at all: nothing
// offered is wanted, or plain bytes are wanted more. Where even plain bytes are
// refused ok is false. The answer depends on the field: middleware.AddVary.
func Encoding(accept []string, offers ...string) (coding string, ok bool) {
	plain, rank := weightOf(accept, "identity", equalCoding)
	refused := rank > rankNone && plain == 0
	best := 1
	if rank == rankExact {
		best = max(plain, 1) // else it is sent when nothing else is wanted
	}
	for _, offer := range offers {
		w, rank := weightOf(accept, offer, equalCoding)
		if rank > rankNone && (w > best || w == best && coding == "") {
			coding, best = offer, w
		}
	}
	return coding, coding != "" || !refused
}

// Language chooses among language tags, best first, by the values of
// Accept-Language: a range fits the tags it begins (RFC 4647 section 3.3.1) and
// the ones it becomes when subtags are cut off its end (section 3.4). The first
// offer is for those who said nothing and those who want nothing that there is.
func Language(accept []string, offers ...string) string {
	best, bestWeight, bestRank := 0, 0, rankNone
	for i, offer := range offers {
		w, rank := weightOf(accept, offer, fitLanguage)
		if w > bestWeight || w == bestWeight && w > 0 && rank > bestRank {
			best, bestWeight, bestRank = i, w, rank
		}
	}
	if len(offers) == 0 {
		return ""
	}
	return offers[best]
}

// weightOf is the weight of the range that names offer most exactly.
func weightOf(accept []string, offer string, fit func(name, offer string) int) (weight, rank int) {
	for _, list := range accept {
		for list != "" {
			var it item
			it, list = next(list)
			r := fit(it.name, offer)
			if it.name == "*" {
				r = rankAny
			}
			if r > rank || r == rank && r > rankNone && it.weight > weight {
				weight, rank = it.weight, r
			}
		}
	}
	return weight, rank
}

// equalCoding also knows the old name of gzip (RFC 9110 section 8.4.1.3).
func equalCoding(name, offer string) int {
	if strings.EqualFold(name, offer) ||
		strings.EqualFold(offer, "gzip") && strings.EqualFold(name, "x-gzip") {
		return rankExact
	}
	return rankNone
}

func fitLanguage(name, offer string) int {
	switch {
	case strings.EqualFold(name, offer):
		return rankExact
	case begins(offer, name), begins(name, offer):
		return rankFamily
	}
	return rankNone
}

// begins reports whether prefix is the first subtags of tag.
func begins(tag, prefix string) bool {
	return prefix != "" && len(tag) > len(prefix) && tag[len(prefix)] == '-' &&
		strings.EqualFold(tag[:len(prefix)], prefix)
}

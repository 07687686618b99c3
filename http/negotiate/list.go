// SPDX-License-Identifier: MIT

package negotiate

import "strings"

// weightMax is the weight of what is wanted without reserve, in thousandths.
const weightMax = 1000

// cutOutside is strings.Cut at the first sep that is not in a quoted string.
func cutOutside(s string, sep byte) (before, after string, found bool) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == sep && !quoted:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// An item is one element of a list: its name, its parameters and its weight.
type item struct {
	name   string
	params string // without the first semicolon; the weight is still in it
	weight int    // thousandths
}

// next cuts the first element off a list.
func next(list string) (it item, rest string) {
	element, rest, _ := cutOutside(list, ',')
	name, params, _ := cutOutside(element, ';')
	it = item{name: trim(name), params: params, weight: weightMax}
	for more := params != ""; more; {
		var key, value string
		key, value, params, more = nextParam(params)
		if isWeight(key) {
			it.weight = parseWeight(value)
		}
	}
	return it, rest
}

// nextParam cuts the first parameter off a list of them. A value that is quoted
// stays so.
func nextParam(params string) (key, value, rest string, more bool) {
	param, rest, more := cutOutside(params, ';')
	key, value, _ = strings.Cut(param, "=")
	return trim(key), trim(value), rest, more
}

func isWeight(key string) bool { return key == "q" || key == "Q" }

func trim(s string) string { return strings.Trim(s, " \t") }

// parseWeight reads a qvalue (RFC 9110 section 12.4.2): 0 to 1 with up to three
// digits behind the point. What is none is 0.
func parseWeight(s string) int {
	whole, part, _ := strings.Cut(s, ".")
	if whole != "0" && whole != "1" || len(part) > 3 {
		return 0
	}
	weight := int(whole[0]-'0') * weightMax
	for i, unit := 0, weightMax/10; i < len(part); i, unit = i+1, unit/10 {
		if part[i] < '0' || part[i] > '9' {
			return 0
		}
		weight += int(part[i]-'0') * unit
	}
	if weight > weightMax {
		return 0
	}
	return weight
}

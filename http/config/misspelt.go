// SPDX-License-Identifier: MIT

package config

import (
	"slices"
	"strings"
)

// slips is the most letters that are wrong, missing, too many or swapped in a name that
// counts as misspelt, and less than a third of them.
const slips = 2

// Misspelt finds what looks like a slip of the pen in an environment, as os.Environ has it:
// variables that are none of known and nearly one, in other letters' case, with the letter O
// in place of a zero, or a few letters off behind the same beginning. They may be another
// program's, so that they are worth a word and no refusal: each comes with what was
// meant as its cure, in the order of their names, and its value is never repeated. One that
// is empty counts as unset.
func Misspelt(environ, known []string) []*Error {
	var list []*Error
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" || slices.Contains(known, name) {
			continue
		}
		if meant := variableLike(name, known); meant != "" {
			list = append(list, &Error{Var: name,
				Cure: "no setting has this name: did you mean " + meant + "?"})
		}
	}
	slices.SortFunc(list, func(x, y *Error) int { return strings.Compare(x.Var, y.Var) })
	return list
}

// variableLike is the known variable that name was meant to be, "" for none.
func variableLike(name string, known []string) string {
	head, rest, _ := strings.Cut(folded(name), "_")
	most := min(slips, (len(rest)-1)/3)
	return least(known, most, func(k string) int {
		khead, krest, ok := strings.Cut(folded(k), "_")
		if !ok || khead != head {
			return slips + 1 // another program's
		}
		return distance(rest, krest)
	})
}

// folded is a name without what is easily taken for each other.
func folded(name string) string {
	head, rest, ok := strings.Cut(strings.ToUpper(name), "_")
	if !ok {
		return ""
	}
	return strings.ReplaceAll(head, "O", "0") + "_" + rest
}

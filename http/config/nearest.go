// SPDX-License-Identifier: MIT

package config

// Nearest is the known name that is most like one that is unknown, "" when none
// is like it. Of two that are equally near, the first in the alphabet wins.
func Nearest(unknown string, known []string) string {
	return least(known, len(unknown)/3, func(name string) int { return distance(unknown, name) })
}

// least is the name that is off by least, and by most at most.
func least(names []string, most int, off func(string) int) string {
	best, d := "", most+1
	for _, name := range names {
		if n := off(name); n < d || n == d && best != "" && name < best {
			best, d = name, n
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	var rows [3][66]int
	older, old, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		older, old, row = old, row, older
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(old[j]+1, row[j-1]+1, old[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

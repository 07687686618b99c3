// SPDX-License-Identifier: MIT

package mutate

import (
	"fmt"
	"strings"
)

// A Review is the list of changes that people have looked at, each with the reason why
// no test can tell it from the code. The key is the folder of the package, a slash and
// the String of the change.
type Review map[string]string

// ParseReview reads a list: a line for a change, and below it, indented, its reason.
// Lines that begin with # and empty ones say nothing.
func ParseReview(text string) (Review, error) {
	r := Review{}
	key := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, " "):
			if key != "" && r[key] == "" {
				return nil, fmt.Errorf("mutate: no reason for %q", key)
			}
			key = line
			if _, ok := r[key]; ok {
				return nil, fmt.Errorf("mutate: %q stands twice", key)
			}
			r[key] = ""
		case key == "":
			return nil, fmt.Errorf("mutate: a reason without a change: %q", line)
		default:
			r[key] = strings.TrimSpace(r[key] + " " + strings.TrimSpace(line))
		}
	}
	if key != "" && r[key] == "" {
		return nil, fmt.Errorf("mutate: no reason for %q", key)
	}
	return r, nil
}

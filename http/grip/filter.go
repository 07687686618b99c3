// SPDX-License-Identifier: MIT

package grip

import (
	"fmt"
	"slices"
	"strings"
)

// A Filter decides whether an item reaches a subscription, or changes its
// content on the way.
type Filter uint8

// The filters. Their names are those of the constants in lower case, with a
// dash: skip-self.
const (
	SkipSelf   Filter = iota + 1 // not to the user who sent it
	SkipUsers                    // not to the users whom the item names
	RequireSub                   // only to connections that subscribe to another channel too
	BuildID                      // %I in the content becomes the connection's id
	VarSubst                     // %(name)s in the content becomes the connection's metadata
)

var filterNames = [...]string{
	SkipSelf:   "skip-self",
	SkipUsers:  "skip-users",
	RequireSub: "require-sub",
	BuildID:    "build-id",
	VarSubst:   "var-subst",
}

func (f Filter) String() string {
	if f.valid() {
		return filterNames[f]
	}
	return fmt.Sprintf("filter %d", uint8(f))
}

func (f Filter) valid() bool { return f >= SkipSelf && f <= VarSubst }

// Content tells whether the filter changes content.
func (f Filter) Content() bool { return f == BuildID || f == VarSubst }

// ParseFilter returns the filter called name. The error lists those there are.
func ParseFilter(name string) (Filter, error) {
	if i := slices.Index(filterNames[1:], name); i >= 0 {
		return Filter(i + 1), nil
	}
	return 0, fmt.Errorf("there is no such filter; the filters are %s",
		strings.Join(filterNames[1:], ", "))
}

// Filters are the filters of a subscription, or the content filters that an
// item expects, in their order.
type Filters []Filter

// Names lists the filters as a Grip-Feature field would.
func (fs Filters) Names() []string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.String()
	}
	return names
}

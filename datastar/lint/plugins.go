// SPDX-License-Identifier: MIT

package lint

import "strings"

// Whether an attribute takes a key, or a value.
type need uint8

const (
	may need = iota
	must
	never
	either // exactly one of key and value
)

// plugin is an attribute that the client knows.
type plugin struct {
	key, value need
	mods       string // modifiers, between blanks
	expression bool   // its value is one, and not the name of a signal or JSON
	object     bool   // without a key its value is an object
}

const timing = " delay debounce throttle viewtransition "

// plugins are those of the free client, 1.0.1 to 1.0.4.
var plugins = map[string]plugin{
	"attr":     {value: must, expression: true, object: true},
	"bind":     {key: either, value: either, mods: " case prop event "},
	"class":    {value: must, mods: " case ", expression: true, object: true},
	"computed": {value: must, mods: " case ", expression: true, object: true},
	"effect":   {key: never, value: must, expression: true},
	"indicator": {
		key: either, value: either, mods: " case ",
	},
	"init":         {key: never, value: must, mods: " delay viewtransition ", expression: true},
	"json-signals": {key: never, mods: " terse "},
	"on": {key: must, value: must, expression: true, mods: timing +
		"window document outside prevent stop capture passive once case "},
	"on-intersect": {key: never, value: must, expression: true, mods: timing +
		"once exit half full threshold "},
	"on-interval": {
		key: never, value: must, mods: " duration viewtransition ", expression: true,
	},
	"on-signal-patch":        {key: never, value: must, mods: timing, expression: true},
	"on-signal-patch-filter": {key: never, value: must},
	"ref":                    {key: either, value: either, mods: " case "},
	"show":                   {key: never, value: must, expression: true},
	"signals":                {mods: " case ifmissing ", expression: true, object: true},
	"style":                  {value: must, expression: true, object: true},
	"text":                   {key: never, value: must, expression: true},

	"ignore":         {key: never, value: may, mods: " self "},
	"ignore-morph":   {key: never},
	"preserve-attr":  {key: never, value: must},
	"scope-children": {key: never},
}

// pro are the attributes of Datastar Pro; their rules are not checked.
var pro = words("animate custom-validity match-media on-raf on-resize persist query-string " +
	"replace-url rocket scroll-into-view view-transition")

// former are names of versions before 1, and what became of them.
var former = map[string]string{
	"on-load":          "data-init",
	"load":             "data-init",
	"on-signal-change": "data-on-signal-patch",
	"on-signals":       "data-on-signal-patch",
	"on-signal":        "data-on-signal-patch",
	"intersects":       "data-on-intersect",
	"store":            "data-signals",
	"merge-signals":    "data-signals",
	"model":            "data-bind",
	"fetch-indicator":  "data-indicator",
	"star-ignore":      "data-ignore",
}

// actions of the free client; query since 1.0.4.
var actions = words("peek setAll toggleAll get post put patch delete query")

// proActions are those of Datastar Pro.
var proActions = words("clipboard fit intl")

// cases are the arguments of the modifier case. "kebab" is none of the client's own, and therefore
// leaves a key as it is.
var cases = words("camel kebab snake pascal")

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// takesKey reports whether the plugin is used with something behind a colon.
func (p plugin) takesKey() bool { return p.key != never }

// near finds the known name that a misspelt one was meant to be, or "".
func near(name string) string {
	best, least := "", 3
	for known := range plugins {
		most := 1
		if len(known) > 4 {
			most = 2
		}
		if d := distance(name, known); d <= most && (d < least || d == least && known < best) {
			best, least = known, d
		}
	}
	return best
}

// distance is how many letters have to be changed, added, taken or swapped (optimal string
// alignment).
func distance(a, b string) int {
	if len(a) > len(b)+2 || len(b) > len(a)+2 {
		return 3
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

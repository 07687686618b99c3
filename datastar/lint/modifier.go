// SPDX-License-Identifier: MIT

package lint

import (
	"strconv"
	"strings"
)

// argsOf are the words that may stand behind a modifier, besides a time or number.
var argsOf = map[string]string{
	"debounce": " leading notrailing ",
	"throttle": " noleading trailing ",
	"duration": " leading ",
}

// modifiers looks at what stands behind two underscores.
func (c *checker) modifiers(a *attribute, n parts, p plugin) {
	for _, mod := range n.mods {
		word, rest, _ := strings.Cut(mod, ".")
		var args []string
		if rest != "" {
			args = strings.Split(rest, ".")
		}
		if word == "" || !strings.Contains(p.mods, " "+word+" ") {
			cure := "data-" + n.plugin + " has no modifiers"
			switch {
			case p.key == either:
				cure = `a name with "__" has to be the value: data-` + n.plugin + `="` +
					camel(n.key) + "__" + mod + `"`
			case p.mods != "":
				cure = "data-" + n.plugin + " has " + strings.Join(strings.Fields(p.mods), ", ")
			}
			c.report(a.at, "modifier", a.name, "__"+mod+" is read as a modifier, and passed over", cure)
			continue
		}
		c.arguments(a, word, args)
	}
}

// arguments looks at what stands behind the dots of a known modifier.
func (c *checker) arguments(a *attribute, word string, args []string) {
	fault := func(happens, cure string) { c.report(a.at, "argument", a.name, happens, cure) }
	switch word {
	case "delay", "debounce", "throttle", "duration":
		if len(args) == 0 || !isTime(args[0]) {
			fault("the client reads the time first, and finds none", "write __"+word+".500ms")
			return
		}
		for _, arg := range args[1:] {
			if !strings.Contains(argsOf[word], " "+arg+" ") {
				fault("."+arg+" is passed over: a time is a whole number of ms or s, and alone",
					"write "+strings.TrimSpace("."+strings.Join(strings.Fields(argsOf[word]), ", .")))
				return
			}
		}
	case "case":
		if len(args) != 1 || !cases[args[0]] {
			fault("the key stays as it is", "write __case.camel, .kebab, .snake or .pascal")
		}
	case "threshold":
		if len(args) != 1 {
			fault("only the first number counts", "write __threshold.25, a whole percentage")
		} else if v, err := strconv.Atoi(args[0]); err != nil || v < 0 || v > 100 {
			fault("it is no percentage", "write __threshold.25")
		}
	case "prop", "event":
		if len(args) == 0 {
			fault("there is no name behind it", "write __"+word+".name")
		}
	default:
		if len(args) > 0 {
			fault("what stands behind the dot is passed over", "take it away")
		}
	}
}

// isTime reports whether the client reads a number, alone or with a unit.
func isTime(s string) bool {
	s = strings.TrimSuffix(strings.TrimSuffix(s, "s"), "m")
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}

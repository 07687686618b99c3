// SPDX-License-Identifier: MIT

package options

import (
	"m0serve.dev/http/config"
	"m0serve.dev/http/publish"
)

// WarnMisspelt adds a warning for each variable of an environment, of -e and of the
// environment files that was meant for a setting and misses its name by a little.
func (o *Options) WarnMisspelt(environ []string) {
	known := []string{"M0_APP", publish.Env, envGunicorn}
	for _, f := range newTable().flags {
		known = append(append(known, f.variable()), f.foreign...)
	}
	for _, e := range config.Misspelt(o.Environ(environ), known) {
		o.warn("$" + e.Var + " has no effect: " + e.Cure)
	}
}

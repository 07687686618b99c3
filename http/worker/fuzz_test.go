// SPDX-License-Identifier: MIT

package worker

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"m0serve.dev/http/config"
)

// FuzzInherit: whatever stands in the variables of a worker, without descriptors behind
// it, it is refused with its cure; a list of numbers is read as strconv reads its items.
func FuzzInherit(f *testing.F) {
	f.Add("7", "0", "2", "9993", "9994,9995", "1")
	f.Add("7", "2", "2", "99999999999999999999", "-1", "")
	f.Add("8", "0", "1", "9990", "3,,4", "x")
	f.Add("", "", "", "", "", "")
	f.Add("", "", "", "3", "", "")
	f.Fuzz(func(t *testing.T, parent, index, workers, fd, list, place string) {
		env := map[string]string{EnvSpawned: parent, EnvIndex: index, EnvWorkers: workers,
			EnvListener: fd, EnvPage: fd, EnvBusRead: fd, EnvBus: list, EnvPlace: place, EnvLife: fd}
		for name, value := range env {
			if value == "" {
				delete(env, name)
			}
		}
		lookup := func(name string) (string, bool) {
			value, has := env[name]
			return value, has
		}
		_, err := inherit(lookup, 7)
		var known *config.Error
		if (err != nil) != (len(env) > 0) || err != nil && !errors.As(err, &known) {
			t.Fatalf("inherit(%v) = %v; want a *config.Error", env, err)
		}
		e := envReader{lookup: lookup}
		got := e.numbers(EnvBus)
		for i, item := range strings.Split(list, ",") {
			n, err := strconv.Atoi(item)
			if got != nil && (err != nil || n < 0 || got[i] != n) {
				t.Fatalf("numbers(%q) = %v, %v", list, got, e.err)
			}
		}
		if (got == nil) != (e.err != nil) {
			t.Fatalf("numbers(%q) = %v, %v; want one of them", list, got, e.err)
		}
	})
}

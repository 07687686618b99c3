// SPDX-License-Identifier: MIT

package serve

import (
	"errors"
	"fmt"

	"m0serve.dev/wsgi/internal/options"
	"m0serve.dev/wsgi/pglisten"
)

// errRootOfASGI is found out by a worker where the interface is not given.
var errRootOfASGI = errors.New("--static /=…: an ASGI application has the root itself: " +
	"name another route")

// unsupported names what options say that this version does not do: nothing is
// accepted and then left out.
func unsupported(o *options.Options) error {
	var problems []error
	refuse := func(on bool, flag, cure string) {
		if on {
			problems = append(problems, fmt.Errorf("%s: this version cannot do it: %s", flag, cure))
		}
	}
	refuse(len(o.Binds) > 1, "--bind", "name one address")
	refuse(o.User != "" || o.Group != "", "--user and --group",
		"let the service manager change them (User= and Group= of systemd)")
	for _, s := range o.Static {
		if s.Route == "/" && o.Interface == "asgi" {
			problems = append(problems, errRootOfASGI)
		}
	}
	return errors.Join(problems...)
}

// checkPostgres looks at the DSN before anything is bound. Nothing is connected to.
func checkPostgres(o *options.Options) error {
	if o.PGListen == "" {
		return nil
	}
	if _, err := pglisten.ParseDSN(o.PGListen); err != nil {
		return fmt.Errorf("--pg-listen: %w", err)
	}
	return nil
}

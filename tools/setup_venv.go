// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"strings"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/venv"
)

// makeVenv makes the virtual environment for tests of Python applications, unless
// it is there. Most of what wsgi promises is shown by these tests, so a failure is
// one of setup; offline they are skipped and it is only told.
func (e *env) makeVenv(s *console.Step, offline bool) error {
	v, err := venv.Of(e.top)
	if err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	err = v.Check(e.ctx)
	if errors.Is(err, venv.ErrMissing) && find([]string{"python3"}) == "" {
		s.Printf("missing  venv      there is no python3; tests of Python applications are skipped")
		return nil
	}
	if errors.Is(err, venv.ErrMissing) && offline {
		s.Printf("missing  venv      tests of Python applications are skipped")
		return nil
	}
	if errors.Is(err, venv.ErrMissing) {
		s.Printf("making   venv      %s of %s", v.Dir, venv.Requirements)
		err = v.Make(e.ctx, func(line string) {
			s.Doing(line)
			if strings.HasPrefix(line, "Collecting ") || strings.HasPrefix(line, "Installing ") {
				what, _, _ := strings.Cut(line, " (from ")
				s.Printf("         %.80s", what)
			}
		})
	}
	if err != nil {
		return fmt.Errorf("setup: %w\n(Debian: apt-get install python3-venv; "+
			"--offline goes on without, and tests of Python applications are skipped)", err)
	}
	s.Printf("have     venv      %s", v.Dir)
	return nil
}

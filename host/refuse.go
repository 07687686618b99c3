// SPDX-License-Identifier: MIT

package host

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"m0serve.dev/http/config"
)

// a refusal is a start that cannot succeed however often it is tried.
type refusal struct{ cause error }

func (r refusal) Error() string { return r.cause.Error() }
func (r refusal) Unwrap() error { return r.cause }

// explain prints why the service ends and returns the exit status for it.
func explain(w io.Writer, err error) int {
	if err == nil || errors.Is(err, errStopped) {
		return exitClean
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(w, "host: %s\n", strings.TrimSuffix(line, "\n"))
	}
	var wrong *config.Error
	if errors.As(err, &wrong) || errors.As(err, &refusal{}) {
		return config.ExitConfig
	}
	return exitFailure
}

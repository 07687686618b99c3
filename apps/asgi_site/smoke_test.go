// SPDX-License-Identifier: MIT

//go:build linux

package asgisite

import (
	"testing"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/pyvenv"
)

// builder makes m0serve once for all tests of the package.
var builder pyserver.Builder

func TestMain(m *testing.M) { builder.Main(m) }

// m0serveCommand gives the command of the real server, or skips the test.
func m0serveCommand(t *testing.T) []string {
	t.Helper()
	return []string{builder.M0serve(t), "--python", pyvenv.Python(t)}
}

// SPDX-License-Identifier: MIT

package main

import (
	"testing"

	"m0serve.dev/apps/internal/smoketest"
)

var bin string

func TestMain(m *testing.M) { smoketest.Main(m, &bin) }

// skipShort leaves out what runs the real binary.
func skipShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the real binary")
	}
	t.Parallel()
}

// SPDX-License-Identifier: MIT

package bus

import (
	"testing"

	"m0serve.dev/http/internal/sys"
)

func closeAll(t *testing.T, pageFD int, channels *Channels) {
	t.Helper()
	if err := channels.Close(); err != nil {
		t.Errorf("Channels.Close() = %v", err)
	}
	if err := sys.BusClose(pageFD); err != nil {
		t.Errorf("close page: %v", err)
	}
}

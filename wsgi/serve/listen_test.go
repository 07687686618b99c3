// SPDX-License-Identifier: MIT

//go:build linux

package serve

import (
	"net"
	"strings"
	"testing"

	"m0serve.dev/wsgi/internal/options"
)

// TestTakenPortHasACure: the error of a start has what the doctor would say.
func TestTakenPortHasACure(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, err = listen(options.Bind{Network: "tcp", Address: ln.Addr().String()})
	if err == nil || !strings.HasSuffix(err.Error(), "or choose another with --port") {
		t.Errorf("listening at a taken port = %v, want the cure", err)
	}
}

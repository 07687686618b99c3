// SPDX-License-Identifier: MIT

//go:build linux

package publishhttp

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/pyvenv"
)

// TestClients: gripcontrol and pubcontrol, as they come, publish with what the
// application has in GRIP_URL.
func TestClients(t *testing.T) {
	s := start(t, launch{})
	streams := s.streams(2, "a")
	cmd := exec.Command(pyvenv.Python(t), "clients.py", s.ask("/variable?name=GRIP_URL"), key)
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("clients.py: %v\n%s%s", err, out, problem.String())
	}
	const all = "token formats bytes batches basic bearer strangers reserved"
	if got := strings.Join(strings.Fields(string(out)), " "); got != all {
		t.Errorf("clients.py printed %q, want %q", got, all)
	}
	for _, data := range []string{"token", "formats", "bytes 🚀"} {
		want(t, streams, data)
	}
	for i := range 35 {
		want(t, streams, fmt.Sprintf("batch %d", i))
	}
	want(t, streams, "basic")
	want(t, streams, "bearer")
	s.publish("behind all this", items(item("a", "end")), 200, "Published")
	want(t, streams, "end")
}

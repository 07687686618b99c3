// SPDX-License-Identifier: MIT

//go:build unix

package static

import (
	"path/filepath"
	"syscall"
	"testing"

	"m0serve.dev/http/internal/both"
)

// A pipe would make its reader wait for a writer.
func TestPipeIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.txt"), 0o644); err != nil {
		t.Fatal(err)
	}
	onBoth(t, serve(t, Config{Dir: dir}), func(t *testing.T, url string, _ bool) {
		if res, _ := both.Ask(t, "GET", url+"/pipe.txt"); res.StatusCode != 404 {
			t.Errorf("GET of a pipe = %d; want 404", res.StatusCode)
		}
	})
}

// SPDX-License-Identifier: MIT

package static

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"m0serve.dev/http/internal/both"
)

// A deployment renames directories, or turns a link. Both are seen within a
// second, and there is no moment without files.
func TestReplacedDirectoryIsSeen(t *testing.T) {
	top := tree(t, map[string]string{"v1/a.txt": "one", "v2/a.txt": "two", "v3/a.txt": "three"})
	at := func(name string) string { return filepath.Join(top, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("v1", at("current")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	f := serve(t, Config{Dir: at("current")})
	var second atomic.Int64
	f.now = func() time.Time {
		return written.Add(time.Hour + time.Duration(second.Load())*time.Second)
	}
	url := native(t, f)
	expect := func(step, want string) {
		t.Helper()
		second.Add(1)
		if _, body := both.Ask(t, "GET", url+"/a.txt"); body != want {
			t.Errorf("%s: %q; want %q", step, body, want)
		}
	}
	expect("at first", "one")
	must(os.Symlink("v2", at("next")))
	must(os.Rename(at("next"), at("current")))
	expect("link turned", "two")
	must(os.Rename(at("current"), at("gone")))
	expect("nothing there", "two")
	must(os.Rename(at("v3"), at("current")))
	expect("another directory", "three")
	must(os.RemoveAll(at("current")))
	put(t, filepath.Join(at("current"), "a.txt"), "four", written)
	expect("made anew", "four")
}

// SPDX-License-Identifier: MIT

package datastarjs

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCached(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	if _, err := Cached(); !errors.Is(err, ErrMissing) {
		t.Errorf("Cached() of an empty cache = %v, want ErrMissing", err)
	}
	if err := put(filepath.Join(cache, "m0", "datastar.js"), []byte(Banner+"\nother")); err != nil {
		t.Fatal(err)
	}
	if _, err := Cached(); err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("Cached() of another file = %v, want an error with the cure", err)
	}
}

func TestCheck(t *testing.T) {
	text := []byte(Banner + "\ncode")
	sum := fmt.Sprintf("%x", sha256.Sum256(text))
	if err := check(text, sum); err != nil {
		t.Errorf("check = %v, want nil", err)
	}
	if err := check(append(text, ' '), sum); err == nil || !strings.Contains(err.Error(), "sha256") {
		t.Errorf("check(changed) = %v, want the sums", err)
	}
	if err := check([]byte("// Datastar v1.0.2\n"), sum); err == nil ||
		!strings.Contains(err.Error(), Banner) {
		t.Errorf("check(other version) = %v, want the banner", err)
	}
}

func TestExtract(t *testing.T) {
	wheel := filepath.Join(t.TempDir(), "a.whl")
	for _, tt := range []struct{ name, want string }{{member, "code"}, {"other.js", ""}} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		f, err := z.Create(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, "code")
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(wheel, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := extract(wheel)
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("extract(wheel with %s) = %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

// TestFetchSaysWhatPipSaid runs a pip that fails.
func TestFetchSaysWhatPipSaid(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho no route to anywhere >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := Fetch(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no route to anywhere") {
		t.Errorf("Fetch = %v, want what pip said", err)
	}
}

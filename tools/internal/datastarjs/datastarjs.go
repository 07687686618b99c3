// SPDX-License-Identifier: MIT

// Package datastarjs fetches the JavaScript client of Datastar v1 for browser
// tests. The client is not ours and is never committed: it is taken out of a
// Python package that ships it, checked byte for byte, and kept in the user's
// cache folder, where the tests look for it unless M0_DATASTAR_JS names a file.
package datastarjs

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"m0serve.dev/tools/internal/proc"
)

// Banner is the first line of the client that the tests are written for.
const Banner = "// Datastar v1.0.1"

// Where the client comes from and what it must be.
const (
	pkg    = "stario==3.4.0"
	python = "3.14" // the package asks for it; nothing of it is run
	member = "stario/cli/templates/hello-world/static/js/datastar.js"
	sum    = "54768cf34985be0229c7229f1df9469fbd32e2a0c09b4a3f1e81ad8c4d6840da"
)

// clientBytesMax bounds what is read from the package.
const clientBytesMax = 1 << 20

// ErrMissing reports that the cache holds no client.
var ErrMissing = errors.New("datastarjs: not in the cache")

// Cached returns the file in the cache after checking it.
func Cached() (string, error) {
	file, err := cacheFile()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return "", ErrMissing
	}
	if err != nil {
		return "", fmt.Errorf("datastarjs: %w", err)
	}
	if err := check(text, sum); err != nil {
		return "", fmt.Errorf("%s: %w; remove the file", file, err)
	}
	return file, nil
}

// Fetch downloads the package with pip and puts the client into the cache.
func Fetch(ctx context.Context) (string, error) {
	file, err := cacheFile()
	if err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp("", "m0-datastar-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	said, err := proc.Run(ctx, proc.Cmd{Dir: tmp, Args: []string{
		"python3", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
		"--python-version", python, "--dest", tmp, pkg,
	}})
	if err != nil {
		return "", fmt.Errorf("datastarjs: pip cannot fetch %s: %s", pkg, lastLine(said))
	}
	wheels, err := filepath.Glob(filepath.Join(tmp, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return "", fmt.Errorf("datastarjs: pip left %d wheels, want 1", len(wheels))
	}
	text, err := extract(wheels[0])
	if err != nil {
		return "", err
	}
	if err := check(text, sum); err != nil {
		return "", err
	}
	return file, put(file, text)
}

// extract returns the client out of the wheel, which is a zip file.
func extract(wheel string) ([]byte, error) {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return nil, fmt.Errorf("datastarjs: open the wheel: %w", err)
	}
	defer z.Close()
	f, err := z.Open(member)
	if err != nil {
		return nil, fmt.Errorf("datastarjs: the wheel holds no %s: %w", member, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, clientBytesMax))
	if err != nil {
		return nil, fmt.Errorf("datastarjs: read the wheel: %w", err)
	}
	return text, nil
}

// check compares the banner and the sum.
func check(text []byte, sum string) error {
	if !strings.HasPrefix(string(text), Banner+"\n") {
		return fmt.Errorf("datastarjs: the client does not open with %q", Banner)
	}
	got := sha256.Sum256(text)
	if hex.EncodeToString(got[:]) != sum {
		return fmt.Errorf("datastarjs: sha256 is %x, want %s", got, sum)
	}
	return nil
}

// put writes the file at once, so that a reader never sees half of it.
func put(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return fmt.Errorf("datastarjs: %w", err)
	}
	tmp := file + ".new"
	if err := os.WriteFile(tmp, text, 0o666); err != nil {
		return fmt.Errorf("datastarjs: %w", err)
	}
	if err := os.Rename(tmp, file); err != nil {
		return fmt.Errorf("datastarjs: %w", err)
	}
	return nil
}

func cacheFile() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("datastarjs: no cache folder: %w", err)
	}
	return filepath.Join(dir, "m0", "datastar.js"), nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// SPDX-License-Identifier: MIT

package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"m0serve.dev/http/internal/sys"
)

// homes is where every user's places are. It is the same for a login shell, a
// cron job and a system unit, which $TMPDIR and $XDG_RUNTIME_DIR are not.
const homes = "/tmp"

// nameMax keeps the path of a socket within the 104 bytes of sockaddr_un.
const nameMax = 40

// Place is the directory that holds the sockets of the services that run in
// dir; "" is the working directory. It need not exist.
func Place(dir string) (string, error) {
	return placeOf(dir, os.Geteuid())
}

func placeOf(dir string, uid int) (string, error) {
	if dir == "" {
		dir = "."
	}
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return "", fmt.Errorf("publish: directory of the service: %w", err)
	}
	sum := sha256.Sum256([]byte(real))
	return filepath.Join(homeOf(uid), hex.EncodeToString(sum[:8])), nil
}

func homeOf(uid int) string { return filepath.Join(homes, "m0-"+strconv.Itoa(uid)) }

// makeHome makes the directory that holds all places of a user and locks it
// until it is closed, so that of two services that start at once one sees the
// other. One that somebody else made, or can write to, is refused: what is
// published would be theirs.
func makeHome(uid int) (*os.File, error) {
	path := homeOf(uid)
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return nil, fmt.Errorf("publish: %w", err)
	}
	if err := lookHome(uid); err != nil {
		return nil, err
	}
	home, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	if err := sys.PublishLock(home); err != nil {
		_ = home.Close()
		return nil, fmt.Errorf("publish: lock %s: %w", path, err)
	}
	return home, nil
}

// lookHome refuses what makeHome must not use.
func lookHome(uid int) error {
	path := homeOf(uid)
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if err := checkHome(info, uid); err != nil {
		return fmt.Errorf("publish: %s %w: remove it, or name a path with %s", path, err, Env)
	}
	return nil
}

func checkHome(info fs.FileInfo, uid int) error {
	switch owner := sys.PublishOwner(info); {
	case !info.IsDir():
		return fmt.Errorf("is not a directory")
	case owner != uid:
		return fmt.Errorf("belongs to user %d, not to %d", owner, uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("is open to others (%v)", info.Mode().Perm())
	}
	return nil
}

// tidyName makes a name of a file of what a service calls itself.
func tidyName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		}
		return '-'
	}, s)
	return strings.TrimLeft(s[max(0, len(s)-nameMax):], ".-") // the end of a path says most
}

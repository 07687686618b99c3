// SPDX-License-Identifier: MIT

package static

import (
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"
)

// A directory is a path and what lies there now. Deployments put another
// directory in its place, or turn a symbolic link; an open directory would be the
// old one for ever, so the path is looked at once a second, when somebody asks.
type directory struct {
	path   string
	now    atomic.Pointer[openDirectory]
	looked atomic.Int64 // the second in which path was looked at
}

type openDirectory struct {
	*os.Root
	info fs.FileInfo
}

func (d *directory) open() error {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return fmt.Errorf("static: %w", err)
	}
	info, err := root.Stat(".")
	if err != nil {
		_ = root.Close()
		return fmt.Errorf("static: %w", err)
	}
	d.now.Store(&openDirectory{root, info})
	return nil
}

// root is the directory to open files in at the time now. One that was replaced
// may be in use and is closed by its finalizer. While there is nothing at the
// path, in the middle of a deployment, the old one goes on.
func (d *directory) root(now time.Time) *os.Root {
	second, looked := now.Unix(), d.looked.Load()
	if second != looked && d.looked.CompareAndSwap(looked, second) {
		info, err := os.Stat(d.path)
		if err == nil && !os.SameFile(info, d.now.Load().info) {
			_ = d.open() // the next second is another chance
		}
	}
	return d.now.Load().Root
}

// SPDX-License-Identifier: MIT

package watch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"m0serve.dev/http/worker/watch"
)

func ExampleWatcher_Run() {
	dir, err := os.MkdirTemp("", "watch")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	w, err := watch.New(watch.Config{
		Dirs: []string{dir}, Include: []string{"*.html"}, Every: 10 * time.Millisecond,
	})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	changes := make(chan string)
	go w.Run(ctx, changes)

	if err := os.WriteFile(filepath.Join(dir, "page.html"), []byte("<p>"), 0o600); err != nil {
		panic(err)
	}
	fmt.Println(filepath.Base(<-changes)) // restart, or read the templates anew
	// Output: page.html
}

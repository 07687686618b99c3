// SPDX-License-Identifier: MIT

package client

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// TestMain wants every goroutine and descriptor back behind all tests.
func TestMain(m *testing.M) {
	goroutines, files := runtime.NumGoroutine(), openFiles()
	code := m.Run()
	fuzzing := flag.Lookup("test.fuzz").Value.String() != "" // which leaves a goroutine itself
	if code == 0 && !fuzzing {
		if left := leaked(goroutines, files+3); left != "" { // the poller takes up to three
			fmt.Println("FAIL: left behind by the tests:", left)
			code = 1
		}
	}
	os.Exit(code)
}

// leaked says what is left above the counts, after some patience.
func leaked(goroutines, files int) string {
	var g, f int
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if g, f = runtime.NumGoroutine(), openFiles(); g <= goroutines && f <= files {
			return ""
		}
	}
	stacks := make([]byte, 64<<10)
	return fmt.Sprintf("%d goroutines of %d, %d descriptors of %d\n%s", g, goroutines, f, files,
		stacks[:runtime.Stack(stacks, true)])
}

// openFiles is 0 where nobody can tell.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

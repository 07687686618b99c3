// SPDX-License-Identifier: MIT

// Package heap says how much memory a program here has in use, for GET /memory.
package heap

import (
	"runtime"
	"strconv"
)

// InUse is the bytes in use on the heap and on stacks, behind a collection.
func InUse() string {
	runtime.GC()
	runtime.GC() // pools are emptied by the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return strconv.FormatUint(m.HeapInuse+m.StackInuse, 10)
}

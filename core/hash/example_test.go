// SPDX-License-Identifier: MIT

package hash_test

import (
	"fmt"
	"io"

	"m0serve.dev/core/hash"
)

// Whole and in pieces the value is the same.
func ExampleXXH64() {
	fmt.Printf("%016x\n", hash.XXH64([]byte("hello")))

	h := hash.NewXXH64(0)
	_, _ = io.WriteString(h, "hel")
	_, _ = io.WriteString(h, "lo")
	fmt.Printf("%016x\n", h.Sum64())
	// Output:
	// 26c7827d889f6da3
	// 26c7827d889f6da3
}

// A seed gives each table an order of its own.
func ExampleWy() {
	key := []byte("hello")
	one, two := hash.Wy(key, 1), hash.Wy(key, 2)
	fmt.Println(one == hash.Wy([]byte("hello"), 1), one == two)
	// Output: true false
}

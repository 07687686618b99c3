// SPDX-License-Identifier: MIT

package serve_test

import (
	"fmt"

	"m0serve.dev/wsgi/serve"
)

// The whole of cmd/m0serve is this call, with the arguments of the process. A setting
// that is wrong is named on stderr, and no restart helps.
func ExampleMain() {
	fmt.Println(serve.Main([]string{"--workers", "some", "mysite.wsgi"}))
	// Output: 78
}

// SPDX-License-Identifier: MIT

package python_test

import (
	"fmt"
	"io/fs"

	"m0serve.dev/wsgi/python"
)

// The publisher travels inside the engine, so that a view imports it without an
// installation.
func ExamplePublisher() {
	files, err := fs.Glob(python.Publisher(), "m0pub/__*.py")
	fmt.Println(files, err)
	// Output: [m0pub/__init__.py m0pub/__main__.py] <nil>
}

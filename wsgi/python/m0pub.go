// SPDX-License-Identifier: MIT

package python

import (
	"embed"
	"io/fs"
)

//go:embed m0pub/*.py m0pub/py.typed
var publisher embed.FS

// Publisher holds the package m0pub, in a directory of that name: what Python code
// publishes with, in a worker and everywhere else.
func Publisher() fs.FS { return publisher }

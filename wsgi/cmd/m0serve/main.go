// SPDX-License-Identifier: MIT

// Command m0serve serves Python applications. It is built twice: as the command,
// which finds the Python and supervises workers, and as the library that each
// worker's Python loads (go build -buildmode=c-shared).
package main

import (
	"os"

	"m0serve.dev/wsgi/serve"
)

func main() { os.Exit(serve.Main(os.Args[1:])) }

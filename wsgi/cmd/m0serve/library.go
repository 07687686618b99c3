// SPDX-License-Identifier: MIT

//go:build cgo && linux

package main

import (
	"runtime"

	"m0serve.dev/wsgi/internal/python"
	"m0serve.dev/wsgi/serve"
)

// As a library the package has no main: the first thing that happens is a call
// from Python, which must find whom it talks to. As a command it may be a worker
// that embeds its interpreter, which has to live on the main thread.
func init() {
	python.SetHost(serve.Host())
	runtime.LockOSThread()
}

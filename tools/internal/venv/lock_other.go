// SPDX-License-Identifier: MIT

//go:build !unix

package venv

import "os"

// lock does nothing here: run one setup at a time.
func lock(*os.File) error { return nil }

// SPDX-License-Identifier: MIT

//go:build !unix

package fanout

import "errors"

func stop(int) error { return errors.New("fanout: this system cannot stop a process") }

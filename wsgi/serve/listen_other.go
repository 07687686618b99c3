// SPDX-License-Identifier: MIT

//go:build !linux

package serve

import "errors"

func setUmask(int) {}

func setBacklog(int, int) error { return errors.New("not on this system") }

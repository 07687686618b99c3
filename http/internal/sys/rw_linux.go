// SPDX-License-Identifier: MIT

//go:build linux && !race

package sys

import "golang.org/x/sys/unix"

func (linux) Read(fd int, p []byte) (int, error) { return unix.Read(fd, p) }

func (linux) Write(fd int, p []byte) (int, error) { return unix.Write(fd, p) }

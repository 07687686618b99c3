// SPDX-License-Identifier: MIT

//go:build !unix

package worker

import "os"

// onOrder has nothing to do: no such signal exists here.
func (s *supervisor) onOrder(os.Signal) {}

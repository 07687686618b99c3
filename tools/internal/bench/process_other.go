// SPDX-License-Identifier: MIT

//go:build !linux

package bench

import (
	"os/exec"
	"time"
)

func dieWithParent(*exec.Cmd) {}

func endGroup(int) {}

func endedCPU() time.Duration { return 0 }

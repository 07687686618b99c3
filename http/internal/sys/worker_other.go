// SPDX-License-Identifier: MIT

//go:build !linux

package sys

import (
	"errors"
	"fmt"
	"runtime"
)

var errNoWorkers = fmt.Errorf("no worker processes on %s: %w", runtime.GOOS, errors.ErrUnsupported)

// WorkerCheckListener is not available here.
func WorkerCheckListener(fd int) error { return errNoWorkers }

// WorkerCheckLifeLine is not available here.
func WorkerCheckLifeLine(fd, pid int) error { return errNoWorkers }

// WorkerCloseOnExec is not available here.
func WorkerCloseOnExec(fd int) {}

// WorkerSend is not available here.
func WorkerSend(fd int, data []byte) error { return errNoWorkers }

// WorkerCheckPage is not available here.
func WorkerCheckPage(fd int) error { return errNoWorkers }

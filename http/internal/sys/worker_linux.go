// SPDX-License-Identifier: MIT

package sys

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// WorkerDead is one child that was waited for.
type WorkerDead struct {
	PID    int
	Status syscall.WaitStatus
	RSSKiB int64 // peak
}

// WorkerSpawn executes path in a new process whose descriptors are exactly
// fds, numbered from 0. The kernel kills the process when the calling THREAD
// ends, so the caller must be locked to one that never does.
func WorkerSpawn(path string, args, env []string, fds []int) (int, error) {
	files := make([]uintptr, len(fds))
	for i, fd := range fds {
		files[i] = uintptr(fd)
	}
	return syscall.ForkExec(path, args, &syscall.ProcAttr{
		Env: env, Files: files,
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
}

// WorkerReap waits for every child that has died by now, unknown ones
// included: as process 1 they are ours to bury.
func WorkerReap() []WorkerDead {
	var dead []WorkerDead
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, &usage)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return dead
		}
		dead = append(dead, WorkerDead{PID: pid, Status: status, RSSKiB: int64(usage.Maxrss)})
	}
}

// WorkerLifeLine makes the pair of stream sockets between a supervisor and a
// worker, both closed on exec.
func WorkerLifeLine() (supervisor, worker int, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, -1, fmt.Errorf("socketpair: %w", err)
	}
	return fds[0], fds[1], nil
}

// WorkerCheckLifeLine says why fd cannot be the worker's end of a life line
// that process pid made.
func WorkerCheckLifeLine(fd, pid int) error {
	if err := workerSocket(fd, unix.AF_UNIX, unix.SOCK_STREAM); err != nil {
		return err
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return err
	}
	if int(peer.Pid) != pid {
		return fmt.Errorf("made by process %d, not by %d", peer.Pid, pid)
	}
	return nil
}

// WorkerCheckListener says why fd cannot be an inherited listener.
func WorkerCheckListener(fd int) error {
	accepts, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil {
		return err
	}
	if accepts != 1 {
		return errors.New("not a listening socket")
	}
	return nil
}

func workerSocket(fd, domain, kind int) error {
	gotDomain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	gotKind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return err
	}
	if gotDomain != domain || gotKind != kind {
		return fmt.Errorf("socket of domain %d and type %d, want %d and %d",
			gotDomain, gotKind, domain, kind)
	}
	return nil
}

// WorkerCloseOnExec keeps fd out of every process that this one will execute.
func WorkerCloseOnExec(fd int) { unix.CloseOnExec(fd) }

// WorkerRecvNow reads from a socket what is there, without waiting.
func WorkerRecvNow(fd int, buf []byte) (int, error) {
	n, _, err := unix.Recvfrom(fd, buf, unix.MSG_DONTWAIT)
	return n, err
}

// WorkerSend writes a short message to a socket, whole or not at all.
func WorkerSend(fd int, data []byte) error {
	for {
		err := unix.Send(fd, data, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if err != unix.EINTR {
			return err
		}
	}
}

// WorkerCheckPage says why fd cannot be shared memory of ours.
func WorkerCheckPage(fd int) error { return busSealedSize(fd, busPageSeals, -1) }

// WorkerNonblock makes a descriptor fit for the runtime's poller.
func WorkerNonblock(fd int) error { return unix.SetNonblock(fd, true) }

// WorkerExecutable is a path that executes this program again, also after its
// file was replaced or removed: then by the kernel's own link, under which the
// process shows as "exe".
func WorkerExecutable() (string, error) {
	const self = "/proc/self/exe"
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	running, err := os.Stat(self)
	if err != nil {
		return path, nil // no /proc: the path is all there is
	}
	if file, err := os.Stat(path); err != nil || !os.SameFile(file, running) {
		return self, nil
	}
	return path, nil
}

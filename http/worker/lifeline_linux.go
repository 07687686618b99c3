// SPDX-License-Identifier: MIT

package worker

import (
	"os"
	"syscall"
	"time"

	"m0serve.dev/http/internal/sys"
)

// a line is the supervisor's end of a worker's life line. The other end says
// ready once; its silence ends with the process, whatever killed it, and the
// worker learns in the same way that the supervisor is gone.
type line struct {
	file *os.File
	stop chan struct{} // closed by settle: nobody takes a report any more
	done chan struct{} // closed once the reader has left
	said bool          // ready was reported; the reader's until done
}

// watchLine owns fd from here on. It sends pid to ready when the worker reports.
func watchLine(fd, pid int, ready chan<- int) (*line, error) {
	if err := sys.WorkerNonblock(fd); err != nil {
		_ = syscall.Close(fd)
		return nil, err
	}
	l := &line{
		file: os.NewFile(uintptr(fd), "life line"),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go l.readOffLoop(pid, ready)
	return l, nil
}

func (l *line) readOffLoop(pid int, ready chan<- int) {
	defer close(l.done)
	var buf [1]byte
	n, err := l.file.Read(buf[:])
	if err != nil || n != 1 || buf[0] != lineReady {
		return
	}
	l.said = true
	select {
	case ready <- pid:
	case <-l.stop:
	}
}

// settle closes the line of a dead process and tells whether the process had
// reported ready before it died. A child that the worker left behind may hold
// the other end open, so the end of the line is not waited for.
func (l *line) settle() bool {
	close(l.stop)
	_ = l.file.SetReadDeadline(time.Unix(1, 0))
	<-l.done
	if !l.said {
		l.said = l.lastWord()
	}
	_ = l.file.Close()
	return l.said
}

// lastWord reads a report that was sent but that the reader was stopped before.
func (l *line) lastWord() bool {
	raw, err := l.file.SyscallConn()
	if err != nil {
		return false
	}
	said := false
	_ = raw.Control(func(fd uintptr) {
		var buf [1]byte
		n, err := sys.WorkerRecvNow(int(fd), buf[:])
		said = err == nil && n == 1 && buf[0] == lineReady
	})
	return said
}

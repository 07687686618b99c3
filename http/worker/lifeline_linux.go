// SPDX-License-Identifier: MIT

package worker

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"time"

	"m0serve.dev/http/internal/sys"
)

// a line is the supervisor's end of a worker's life line. The other end says
// when it is ready; its silence ends with the process, whatever killed it, and
// the worker learns in the same way that the supervisor is gone.
type line struct {
	file *os.File
	stop chan struct{} // closed by settle: nobody takes a report any more
	done chan struct{} // closed once the reader has left
	said bool          // ready was reported; the reader's until done
}

// watchLine owns fd from here on. It sends what the worker reports to reports.
func watchLine(fd, pid int, reports chan<- report) (*line, error) {
	if err := sys.WorkerNonblock(fd); err != nil {
		_ = syscall.Close(fd)
		return nil, err
	}
	l := &line{
		file: os.NewFile(uintptr(fd), "life line"),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go l.readOffLoop(pid, reports)
	return l, nil
}

func (l *line) readOffLoop(pid int, reports chan<- report) {
	defer close(l.done)
	var buf [1]byte
	for {
		if n, err := l.file.Read(buf[:]); err != nil || n != 1 {
			return
		}
		l.said = l.said || buf[0] == lineReady
		select {
		case reports <- report{pid, buf[0]}:
		case <-l.stop:
			return
		}
	}
}

// say sends a word to the worker, or fails: nobody waits for one that does not
// read its line.
func (l *line) say(word byte) error {
	raw, err := l.file.SyscallConn()
	if err != nil {
		return err
	}
	var errSend error
	err = raw.Control(func(fd uintptr) { errSend = sys.WorkerSend(int(fd), []byte{word}) })
	return errors.Join(err, errSend)
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
		var buf [16]byte
		n, err := sys.WorkerRecvNow(int(fd), buf[:])
		said = err == nil && bytes.IndexByte(buf[:n], lineReady) >= 0
	})
	return said
}

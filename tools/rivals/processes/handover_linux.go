// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/worker"
)

const (
	handOvers  = 2000
	handBurst  = 32      // then the sibling catches up
	manyOpen   = 1 << 30 // connections that the giving worker seems to have
	catchUpMax = 5 * time.Second
)

// handOverOurs gives connections to a sibling as an accept share does: choose, count,
// send, close.
func handOverOurs() (said, error) {
	page, pageFD, ch, err := openService(2)
	if err != nil {
		return said{}, err
	}
	sibling, err := start("sibling", pageFD, ch.Read[1], ch.Write[0])
	if err != nil {
		return said{}, err
	}
	defer sibling.stop()
	share, err := worker.NewShare(page, 0, []int{ch.Read[0], ch.Write[1]})
	if err != nil {
		return said{}, err
	}
	page.Worker(0).AddConnections(manyOpen)
	return giveAll(func(fd int) error {
		if share.Accepted(fd) {
			return errors.New("a connection was kept")
		}
		return nil
	}, func(given int) bool { return int(page.Worker(1).Taken()) >= given })
}

// handOverFloor does the two system calls alone.
func handOverFloor() (said, error) {
	ch, err := bus.NewChannels(1)
	if err != nil {
		return said{}, err
	}
	taker, err := start("taker", ch.Read[0])
	if err != nil {
		return said{}, err
	}
	defer taker.stop()
	taken := int64(0)
	return giveAll(func(fd int) error {
		rights := syscall.UnixRights(fd)
		if err := syscall.Sendmsg(ch.Write[0], []byte{'C'}, rights, nil, 0); err != nil {
			return err
		}
		return syscall.Close(fd)
	}, func(given int) bool {
		for taken < int64(given) {
			if taker.out.Decode(&taken) != nil {
				return false
			}
		}
		return true
	})
}

// giveAll times give for copies of a connection.
func giveAll(give func(fd int) error, caughtUp func(given int) bool) (said, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return said{}, err
	}
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		return said{}, err
	}
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		return said{}, err
	}
	defer runtime.KeepAlive(file)
	var took []int64
	for given := 1; given <= handOvers; given++ {
		fd, err := syscall.Dup(int(file.Fd()))
		if err != nil {
			return said{}, err
		}
		begin := time.Now()
		if err := give(fd); err != nil {
			return said{}, err
		}
		took = append(took, time.Since(begin).Nanoseconds())
		if given%handBurst != 0 {
			continue
		}
		for end := time.Now().Add(catchUpMax); !caughtUp(given); time.Sleep(restTime) {
			if time.Now().After(end) {
				return said{}, errors.New("the sibling does not take what it is given")
			}
		}
	}
	return said{EachUs: median(took)}, nil
}

// adoptShared is a worker that closes what it is given.
func adoptShared() error {
	page, err := bus.OpenPage(3)
	if err != nil {
		return err
	}
	share, err := worker.NewShare(page, 1, []int{5, 4})
	if err != nil {
		return err
	}
	line := page.Worker(1)
	line.Claim(os.Getpid())
	line.SetState(bus.Ready)
	share.Start(func(fd int) error {
		defer share.Closed()
		return syscall.Close(fd)
	})
	if err := tell(0); err != nil {
		return err
	}
	select {}
}

// adoptBare says after each burst how many it has had.
func adoptBare() error {
	if err := tell(0); err != nil {
		return err
	}
	if err := syscall.SetNonblock(3, false); err != nil {
		return err
	}
	data, control := make([]byte, 1), make([]byte, syscall.CmsgSpace(4))
	for taken := int64(1); ; taken++ {
		_, n, _, _, err := syscall.Recvmsg(3, data, control, 0)
		if err != nil {
			return err
		}
		messages, err := syscall.ParseSocketControlMessage(control[:n])
		if err != nil || len(messages) != 1 {
			return errors.New("no descriptor came")
		}
		fds, err := syscall.ParseUnixRights(&messages[0])
		if err != nil {
			return err
		}
		if err := syscall.Close(fds[0]); err != nil {
			return err
		}
		if taken%handBurst == 0 {
			if err := tell(taken); err != nil {
				return err
			}
		}
	}
}

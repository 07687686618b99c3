// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"m0serve.dev/apps/internal/ledger"
	"m0serve.dev/apps/internal/smoketest"
)

// aheadMost bounds how many notes no stream has yet, below what a journal keeps: a
// stream that comes back can be caught up, however slow the machine.
const aheadMost = 24

// recentMost bounds the ids that a writer remembers, above what a bus keeps for a worker
// that is away.
const recentMost = 1 << 14

// A writer publishes notes through the socket of a service, one by one, and puts each
// down in the ledger. It shares no line with m0pub.
type writer struct {
	events  *ledger.Events
	channel string
	socket  string
	size    int               // of a note's data
	only    func(string) bool // the streams that it waits for
	refused int               // notes that were refused
	recent  []uint64          // ids that were confirmed last
	stop    chan struct{}
	once    sync.Once
	group   sync.WaitGroup

	conn net.Conn
	in   *bufio.Reader
}

// socketOf is where the service of p publishes, which is found by its directory.
func socketOf(t *testing.T, p *smoketest.Process) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(p.Cmd.Dir)
	if err != nil {
		t.Fatal(err)
	}
	pattern := fmt.Sprintf("/tmp/m0-%d/%x/*.sock", os.Getuid(), sha256.Sum256([]byte(dir)))
	pattern = filepath.Join(filepath.Dir(filepath.Dir(pattern)),
		filepath.Base(filepath.Dir(pattern))[:16], "*.sock")
	var found []string
	until(t, "a socket at "+pattern, func() bool {
		found, _ = filepath.Glob(pattern)
		return len(found) == 1
	})
	return found[0]
}

func newWriter(t *testing.T, p *smoketest.Process, events *ledger.Events) *writer {
	t.Helper()
	w := &writer{events: events, channel: "beat", socket: socketOf(t, p), size: 20,
		only: everyStream, stop: make(chan struct{})}
	t.Cleanup(w.end)
	return w
}

// run publishes until end.
func (w *writer) run() {
	w.group.Go(func() {
		for {
			select {
			case <-w.stop:
				return
			default:
			}
			if w.events.Ahead(w.only) >= aheadMost {
				time.Sleep(time.Millisecond)
				continue
			}
			w.publish()
		}
	})
}

// pause ends what run began.
func (w *writer) pause() {
	w.once.Do(func() { close(w.stop) })
	w.group.Wait()
}

func (w *writer) end() {
	w.pause()
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}

// publish publishes one note, confirmed or in doubt. Before it is sent a connection
// may fail as it likes.
func (w *writer) publish() {
	if w.conn == nil {
		conn, err := net.Dial("unix", w.socket)
		if err != nil {
			time.Sleep(time.Millisecond)
			return
		}
		w.conn, w.in = conn, bufio.NewReader(conn)
	}
	_ = w.conn.SetDeadline(time.Now().Add(patience))
	id, isRefused, err := w.exchange()
	switch {
	case err != nil:
		// A connection that ends with a reset was not read to its end, so the note was
		// not taken; one that ends in order may have been.
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			w.events.Doubtful()
		}
		_ = w.conn.Close()
		w.conn = nil
	case isRefused:
		w.refused++
	default:
		w.events.Published(id)
		w.recent = append(w.recent[max(0, len(w.recent)-recentMost):], id)
	}
}

const magic = "m0p1"

// exchange sends a request of one message and reads its answer.
func (w *writer) exchange() (id uint64, isRefused bool, err error) {
	const event = "note"
	data := make([]byte, w.size)
	for i := range data {
		data[i] = 'x'
	}
	payload := binary.BigEndian.AppendUint16(nil, 1)
	payload = append(payload, 0)
	payload = binary.BigEndian.AppendUint16(payload, uint16(len(w.channel)))
	payload = binary.BigEndian.AppendUint16(payload, uint16(len(event)))
	payload = binary.BigEndian.AppendUint16(payload, 0)
	payload = binary.BigEndian.AppendUint32(payload, uint32(len(data)))
	payload = append(append(append(payload, w.channel...), event...), data...)
	frame := binary.BigEndian.AppendUint32([]byte(magic), uint32(len(payload)))
	if _, err := w.conn.Write(append(frame, payload...)); err != nil {
		return 0, false, err
	}
	head := make([]byte, len(magic)+4)
	if _, err := io.ReadFull(w.in, head); err != nil {
		return 0, false, err
	}
	answer := make([]byte, binary.BigEndian.Uint32(head[len(magic):]))
	if _, err := io.ReadFull(w.in, answer); err != nil {
		return 0, false, err
	}
	if len(answer) < 10 || answer[0] != 0 {
		return 0, false, fmt.Errorf("answer %q", answer)
	}
	return binary.BigEndian.Uint64(answer[2:]), answer[1] != 0, nil
}

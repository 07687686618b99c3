// SPDX-License-Identifier: MIT

package bus

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The tests across processes start this test binary again as peers: real
// processes with inherited descriptors, each obeying one JSON line at a time.

const (
	peerEnv     = "M0_BUS_TEST_PEER" // JSON of a peerConfig
	peerPageFD  = 3
	peerFirstFD = 4 // the read end when there is one, then all write ends
)

type peerConfig struct {
	Index       int // -1: only publishes
	Channels    int
	Window      time.Duration
	QueueBytes  int
	QueueFrames int
	Backlog     bool // take over the backlog before receiving
	Clock       bool // only count frames, and time those that carry a time
}

type command struct {
	Do          string
	Count, Size int
	Lost        uint64
	Index       int
	ID          uint64
}

// answer is what a peer says: each order fills what belongs to it.
type answer struct {
	Err       string
	IDs       []uint64 // taken, published, or received in order
	Backlog   []uint64 // ids of the backlog
	Origins   map[uint32]int
	Bad       int // bodies that are not what their id says
	Refused   int
	RefusedBy map[int]int // how often a channel stood in a RefusedError
	SlowUs    int64       // 90th percentile of the time of one Publish
	Lost      uint64
	Stats     Stats
	Connected []int
	TookNs    []int64 // of each frame, see peerConfig.Clock
}

func TestMain(m *testing.M) {
	if config := os.Getenv(peerEnv); config != "" {
		if err := runPeer(config); err != nil {
			fmt.Fprintln(os.Stderr, "peer:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fill is the body that belongs to an id.
func fill(id uint64, size int) []byte {
	body := make([]byte, 0, size+8)
	for len(body) < size {
		id = id*6364136223846793005 + 1442695040888963407
		body = binary.LittleEndian.AppendUint64(body, id)
	}
	return body[:size]
}

// peer is the child's side.
type peer struct {
	bus *Bus

	mu      sync.Mutex
	ids     []uint64
	origins map[uint32]int
	bad     int
	lost    uint64
	backlog []uint64
	count   int
	took    []int64
	grown   chan struct{}
}

func runPeer(text string) error {
	var c peerConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	page, err := OpenPage(peerPageFD)
	if err != nil {
		return err
	}
	p := &peer{origins: map[uint32]int{}, grown: make(chan struct{}, 1)}
	config := Config{
		Page: page, Read: -1, Index: c.Index, Window: c.Window,
		QueueBytes: c.QueueBytes, QueueFrames: c.QueueFrames,
		Lost: func(n uint64) {
			p.mu.Lock()
			p.lost += n
			p.mu.Unlock()
			signal(p.grown)
		},
	}
	fd := peerFirstFD
	if c.Index >= 0 {
		config.Read = fd
		fd++
	}
	for range c.Channels {
		config.Write = append(config.Write, fd)
		fd++
	}
	if p.bus, err = Open(config); err != nil {
		return err
	}
	if c.Index >= 0 {
		page.Worker(c.Index).Claim(os.Getpid())
		if c.Backlog {
			p.bus.Backlog(func(f Frame) { p.backlog = append(p.backlog, f.ID) })
		}
		if c.Clock {
			p.bus.Receive(p.clock)
		} else {
			p.bus.Receive(p.deliver)
		}
	}
	return p.serve(os.Stdin, os.Stdout)
}

func (p *peer) deliver(f Frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	p.ids = append(p.ids, f.ID)
	p.origins[f.Origin]++
	if f.Channel != "c" || f.Kind != "k" || !slices.Equal(f.Body, fill(f.ID, len(f.Body))) {
		p.bad++
	}
	signal(p.grown)
}

// clock counts a frame and notes how long it was on its way.
func (p *peer) clock(f Frame) {
	took := int64(Uptime()) - int64(binary.LittleEndian.Uint64(f.Body))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	p.took = append(p.took, took)
	signal(p.grown)
}

func (p *peer) serve(in io.Reader, out io.Writer) error {
	lines, answers := json.NewDecoder(in), json.NewEncoder(out)
	if err := answers.Encode(answer{Backlog: p.backlog}); err != nil {
		return err
	}
	for {
		var o command
		if err := lines.Decode(&o); err == io.EOF {
			p.bus.Close()
			return nil
		} else if err != nil {
			return err
		}
		if err := answers.Encode(p.obey(o)); err != nil {
			return err
		}
	}
}

func (p *peer) obey(o command) answer {
	switch o.Do {
	case "take":
		var a answer
		for range o.Count {
			a.IDs = append(a.IDs, p.bus.NextID())
		}
		return a
	case "publish":
		return p.publish(o)
	case "send":
		if err := p.bus.SendTo(o.Index, Frame{Channel: "\x01test"}); err != nil {
			return answer{Err: err.Error()}
		}
		return answer{}
	case "flood":
		go func() {
			for size := 0; ; size = (size*7 + 1013) % (2 * inlineBody) {
				id := p.bus.NextID()
				_ = p.bus.Publish(Frame{ID: id, Channel: "c", Kind: "k", Body: fill(id, size)})
			}
		}()
		return answer{}
	case "await":
		return p.await(o)
	case "last":
		a := p.await(o)
		a.TookNs = a.TookNs[max(len(a.TookNs)-1, 0):]
		return a
	case "damage":
		line := p.bus.Page().Worker(p.bus.Index())
		for i := range line.words {
			line.words[i].Store(0xdeadbeefdeadbeef)
		}
		return answer{}
	case "lines":
		var a answer
		for i := range p.bus.Page().Workers() {
			a.Connected = append(a.Connected, p.bus.Page().Worker(i).Connections())
		}
		return a
	}
	return answer{Err: "unknown order " + o.Do}
}

// publish sends Count frames of Size bytes, or one with the id ID.
func (p *peer) publish(o command) answer {
	a := answer{RefusedBy: map[int]int{}}
	var took []int64
	for range max(o.Count, 1) {
		id := o.ID
		if id == 0 {
			id = p.bus.NextID()
		}
		f := Frame{ID: id, Channel: "c", Kind: "k", Body: fill(id, o.Size)}
		start := time.Now()
		err := p.bus.Publish(f)
		took = append(took, time.Since(start).Microseconds())
		var refused *RefusedError
		switch {
		case errors.As(err, &refused):
			a.Refused++
			for _, channel := range refused.Channels {
				a.RefusedBy[channel]++
			}
		case err != nil:
			a.Err = err.Error()
		}
		a.IDs = append(a.IDs, id)
	}
	slices.Sort(took)
	a.SlowUs = took[len(took)*90/100]
	a.Stats = p.bus.Stats()
	return a
}

// await waits until so many frames were received and so many reported lost,
// and tells of all of them.
func (p *peer) await(o command) answer {
	for {
		p.mu.Lock()
		if p.count >= o.Count && p.lost >= o.Lost {
			defer p.mu.Unlock()
			return answer{
				IDs: slices.Clone(p.ids), Origins: maps.Clone(p.origins), Bad: p.bad,
				Lost: p.lost, TookNs: slices.Clone(p.took), Stats: p.bus.Stats(),
			}
		}
		have := p.count
		p.mu.Unlock()
		select {
		case <-p.grown:
		case <-time.After(waitMax):
			return answer{Err: fmt.Sprintf("received %d frames, want %d", have, o.Count)}
		}
	}
}

// A fleet is the parent's side: page, channels and the peers it started.
type fleet struct {
	page     *Page
	pageFD   int
	channels *Channels
}

func newFleet(t testing.TB, n int) *fleet {
	t.Helper()
	page, fd := newTestPage(t, n)
	channels, err := NewChannels(n)
	if err != nil {
		t.Fatalf("NewChannels(%d) = %v", n, err)
	}
	t.Cleanup(func() {
		if err := channels.Close(); err != nil {
			t.Errorf("Channels.Close() = %v", err)
		}
	})
	return &fleet{page, fd, channels}
}

// A remote is a started peer.
type remote struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *os.File
	answers *json.Decoder
	first   answer
}

// start starts a peer and waits until it has joined.
func (f *fleet) start(t testing.TB, c peerConfig) *remote {
	t.Helper()
	c.Channels = len(f.channels.Write)
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	fds := []int{f.pageFD}
	if c.Index >= 0 {
		fds = append(fds, f.channels.Read[c.Index])
	}
	fds = append(fds, f.channels.Write...)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), peerEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	for _, fd := range fds {
		file := os.NewFile(uintptr(mustDup(t, fd)), strconv.Itoa(fd))
		defer func() { _ = file.Close() }()
		cmd.ExtraFiles = append(cmd.ExtraFiles, file)
	}
	r := &remote{cmd: cmd}
	if r.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.out, cmd.Stdout = reader, writer
	r.answers = json.NewDecoder(bufio.NewReader(reader))
	err = cmd.Start()
	_ = writer.Close()
	if err != nil {
		t.Fatalf("start peer %d: %v", c.Index, err)
	}
	t.Cleanup(func() { r.kill(); _ = r.out.Close() })
	r.first = r.hear(t, "start")
	return r
}

// kill ends the peer at once and reaps it.
func (r *remote) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

// tell gives an order without waiting for the answer.
func (r *remote) tell(t testing.TB, o command) {
	t.Helper()
	if err := json.NewEncoder(r.in).Encode(o); err != nil {
		t.Fatalf("%s: %v", o.Do, err)
	}
}

func (r *remote) hear(t testing.TB, what string) answer {
	t.Helper()
	if err := r.out.SetReadDeadline(time.Now().Add(10 * waitMax)); err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := r.answers.Decode(&a); err != nil {
		t.Fatalf("%s: no answer: %v", what, err)
	}
	if a.Err != "" {
		t.Fatalf("%s: %s", what, a.Err)
	}
	return a
}

func (r *remote) ask(t testing.TB, o command) answer {
	t.Helper()
	r.tell(t, o)
	return r.hear(t, o.Do)
}

// SPDX-License-Identifier: MIT

//go:build linux

package asgisite

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// loops are the event loops that every group runs on.
var loops = []string{"asyncio", "uvloop"}

// A testCase talks to a server and says what is wrong.
type testCase struct {
	name string
	run  func(p *probe)
}

// A group is the cases of one subject.
type group struct {
	name  string
	app   string // "" is bare:app
	alone bool   // each case gets a server of its own
	width int    // cases at a time; 0 is 8
	cases []testCase
}

// play runs a group on both loops.
func play(t *testing.T, g group) {
	smoke(t)
	for _, loop := range loops {
		t.Run(loop, func(t *testing.T) {
			known := faultsOf(t, g.name, loop)
			l := launch{app: "bare:app", loop: loop}
			if g.app != "" {
				l.app = g.app
			}
			if g.alone {
				for _, c := range g.cases {
					judge(t, c.name, probeServer(serve(t, l), c.run), known)
				}
				return
			}
			playShared(t, serve(t, l), g, known)
		})
	}
}

func playShared(t *testing.T, s *server, g group, known map[string]string) {
	width := g.width
	if width == 0 {
		width = 8
	}
	found := make([][]string, len(g.cases))
	slots := make(chan struct{}, width)
	var wg sync.WaitGroup
	for i, c := range g.cases {
		slots <- struct{}{}
		wg.Go(func() {
			found[i] = probeServer(s, c.run)
			<-slots
		})
	}
	wg.Wait()
	for i, c := range g.cases {
		judge(t, c.name, found[i], known)
	}
}

// judge reports what a case found under its name; a known fault of another server
// has to show itself.
func judge(t *testing.T, name string, found []string, known map[string]string) {
	t.Run(name, func(t *testing.T) { verdict(t, name, known, found) })
}

// verdict ends a case by what it found.
func verdict(t *testing.T, name string, known map[string]string, found []string) {
	reason, isKnown := known[name]
	switch {
	case isKnown && len(found) == 0:
		t.Errorf("known fault (%s) is not seen: drop it from the list", reason)
	case isKnown:
		t.Skipf("known fault (%s): %s", reason, found[0])
	}
	for _, text := range found {
		t.Error(text)
	}
}

// faultsOf reads what the server is known to get wrong in a group on a loop.
func faultsOf(t *testing.T, group, loop string) map[string]string {
	t.Helper()
	known := map[string]string{}
	text, err := os.ReadFile(filepath.Join("testdata", "faults", serverName()+".txt"))
	if os.IsNotExist(err) {
		return known
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
		name = strings.TrimSuffix(name, "@"+loop)
		if rest, ok := strings.CutPrefix(name, group+"/"); ok {
			known[rest] = strings.TrimSpace(reason)
		}
	}
	return known
}

// A probe is one run of one case.
type probe struct {
	s     *server
	token string

	mu     sync.Mutex
	faults []string
	open   []net.Conn
}

var tokens atomic.Int64

// probeServer runs one case and gives what it found. A case that ends itself early
// ends its goroutine only.
func probeServer(s *server, run func(p *probe)) []string {
	p := &probe{s: s, token: fmt.Sprintf("t%d", tokens.Add(1))}
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(p)
	}()
	select {
	case <-done:
	case <-time.After(6 * patience):
		p.Errorf("the case did not end within %v", 6*patience)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		c.Close()
	}
	return slices.Clone(p.faults)
}

// Errorf notes a fault.
func (p *probe) Errorf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// Fatalf notes a fault and ends the case.
func (p *probe) Fatalf(format string, args ...any) {
	p.Errorf(format, args...)
	runtime.Goexit()
}

// equal notes a fault unless got is want.
func (p *probe) equal(what string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		p.Errorf("%s = %s, want %s", what, short(fmt.Sprintf("%#v", got)),
			short(fmt.Sprintf("%#v", want)))
	}
}

// dial opens a connection, which is closed at the end of the case.
func (p *probe) dial() *conn {
	link, err := net.Dial("tcp", p.s.addr)
	if err != nil {
		p.Fatalf("dial: %v", err)
	}
	p.mu.Lock()
	p.open = append(p.open, link)
	p.mu.Unlock()
	_ = link.SetDeadline(time.Now().Add(3 * patience))
	return &conn{Conn: link, p: p, r: bufio.NewReaderSize(link, 64<<10)}
}

// request is the text of a request without a body; headers are whole lines.
func request(method, target string, headers ...string) string {
	text := method + " " + target + " HTTP/1.1\r\nHost: site.example\r\n"
	for _, h := range headers {
		text += h + "\r\n"
	}
	return text + "\r\n"
}

// post is the text of a request with a body.
func post(target, body string, headers ...string) string {
	headers = append(headers, fmt.Sprintf("Content-Length: %d", len(body)))
	return request("POST", target, headers...) + body
}

// get asks on a connection of its own.
func (p *probe) get(target string, headers ...string) *answer {
	return p.talk("GET", request("GET", target, headers...))
}

// talk sends one request on a connection of its own and reads the answer.
func (p *probe) talk(method, text string) *answer {
	c := p.dial()
	c.write(text)
	a := c.read(method)
	if a.framing != "close" {
		c.Close()
	}
	return a
}

// json asks and decodes the answer into value.
func (p *probe) json(value any, target string, headers ...string) {
	p.decode(value, p.get(target, headers...))
}

// decode decodes an answer that has to be 200.
func (p *probe) decode(value any, a *answer) {
	if a.status != 200 || !a.whole {
		p.Fatalf("answer %d %q, whole %v", a.status, short(string(a.body)), a.whole)
	}
	if err := json.Unmarshal(a.body, value); err != nil {
		p.Fatalf("answer %q: %v", short(string(a.body)), err)
	}
}

// at gives the target of a route with the token of the case.
func (p *probe) at(route string) string {
	mark := "?"
	if strings.Contains(route, "?") {
		mark = "&"
	}
	return route + mark + "t=" + p.token
}

// events gives what the application noted so far.
func (p *probe) events() []string {
	var notes []string
	p.json(&notes, p.at("/events"))
	return notes
}

// saw waits until the application has noted all of want, in any place.
func (p *probe) saw(want ...string) {
	var notes []string
	ok := p.until(func() bool {
		notes = p.events()
		return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(notes, w) })
	})
	if !ok {
		p.Fatalf("noted %s, want also %q", brief(notes), want)
	}
}

// notSeen says that the application may not have noted text.
func (p *probe) notSeen(text string) {
	if notes := p.events(); slices.Contains(notes, text) {
		p.Errorf("noted %s, want no %q", brief(notes), text)
	}
}

// brief leaves out the middle of many notes.
func brief(notes []string) string {
	if len(notes) > 10 {
		return fmt.Sprintf("%q … %q", notes[:4], notes[len(notes)-4:])
	}
	return fmt.Sprintf("%q", notes)
}

// openGate opens the gate of the case, or one of its gates.
func (p *probe) openGate(suffix string) {
	if a := p.get("/open?t=" + p.token + suffix); a.status != 200 {
		p.Fatalf("GET /open = %d", a.status)
	}
}

// until polls ok.
func (p *probe) until(ok func() bool) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if ok() {
			return true
		}
		time.Sleep(3 * time.Millisecond)
	}
	return false
}

// count gives how many notes open with prefix, and the last of them.
func (p *probe) count(prefix string) (n int, last string) {
	for _, text := range p.events() {
		if strings.HasPrefix(text, prefix) {
			n, last = n+1, text
		}
	}
	return n, last
}

// settled waits until the number of notes with a prefix stops growing for quiet.
func (p *probe) settled(prefix string, quiet time.Duration) (n int, last string) {
	since := time.Now()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		m, text := p.count(prefix)
		if m != n {
			n, last, since = m, text, time.Now()
		}
		if n > 0 && time.Since(since) > quiet {
			return n, last
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.Fatalf("%d notes %q…, and still more after %v", n, prefix, patience)
	return n, last
}

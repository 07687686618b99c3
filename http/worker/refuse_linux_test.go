// SPDX-License-Identifier: MIT

package worker

import (
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/http/bus"
)

// handOn is a worker of which the first at place 0 hands its one connection to the
// one at place 1, which takes nothing; a successor of either never is ready.
func handOn(in *Inherited, ln net.Listener, stop <-chan os.Signal) int {
	page, err := bus.OpenPage(in.Page)
	check(err)
	if page.Worker(1).Offers() > 0 {
		fmt.Println("a successor boots")
		<-stop
		return 0
	}
	line := page.Worker(in.Place)
	line.Claim(os.Getpid())
	line.SetState(bus.Ready)
	check(in.Ready())
	if in.Place == 1 {
		<-stop
		return 0
	}
	for page.Worker(1).State() != bus.Ready {
		time.Sleep(time.Millisecond)
	}
	conn, err := ln.Accept()
	check(err)
	file, err := conn.(*net.TCPConn).File()
	check(err)
	check(conn.Close())
	check(handOverTo(page.Worker(1), in.Accept[1], int(file.Fd())))
	check(file.Close())
	share, err := NewShare(page, in.Place, in.Accept)
	check(err)
	share.Start(answerHanded)
	fmt.Println("handed over")
	<-stop
	share.Leave()
	return 0
}

func answerHanded(fd int) error {
	conn, err := connOf(fd)
	if err != nil {
		return err
	}
	defer conn.Close()
	buf := make([]byte, 1024)
	if _, err := conn.Read(buf); err != nil {
		return err
	}
	_, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	return err
}

// pidOf is the process id that the first worker at index printed.
func (s *service) pidOf(t *testing.T, index int) int {
	t.Helper()
	m := regexp.MustCompile(fmt.Sprintf(`worker %d of \d+ pid (\d+)`, index)).
		FindStringSubmatch(s.text())
	if m == nil {
		t.Fatalf("worker %d did not say its pid", index)
	}
	pid, _ := strconv.Atoi(m[1])
	return pid
}

// A connection that was handed to a worker before it was killed, and a stop that
// comes before the successor serves: who serves answers it, and where nobody does the
// supervisor refuses it. It is reset by neither.
func TestStopAnswersWhatWasHandedToTheDead(t *testing.T) {
	for _, c := range []struct {
		name, hello, want string
		killed            []int
	}{
		{"a sibling serves", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 ", []int{1}},
		{"nobody serves", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 503 ", []int{0, 1}},
		{"nobody serves a long request", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000" +
			"\r\n\r\n" + strings.Repeat("b", 100_000), "HTTP/1.1 503 ", []int{0, 1}},
		{"nobody serves TLS", "\x16\x03\x01", "", []int{0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := startService(t, "handing")
			s.says(t, "all ready at ")
			_, rest, _ := strings.Cut(s.text(), "all ready at ")
			address, _, _ := strings.Cut(rest, "\n")
			client, err := net.Dial("tcp", address)
			must(t, err)
			defer client.Close()
			must(t, client.SetDeadline(time.Now().Add(patience)))
			_, err = io.WriteString(client, c.hello)
			must(t, err)
			s.says(t, "handed over")
			for _, index := range c.killed {
				must(t, syscall.Kill(s.pidOf(t, index), syscall.SIGKILL))
			}
			s.until(t, "the successors", func() bool {
				return strings.Count(s.text(), "a successor boots") == len(c.killed)
			})
			s.signal(t, syscall.SIGTERM)
			got, err := io.ReadAll(client)
			if err != nil || !strings.HasPrefix(string(got), c.want) {
				t.Errorf("the client got %q, %v; want %q", got, err, c.want)
			}
			if c.want == "" && len(got) > 0 {
				t.Errorf("a client that speaks TLS got %q", got)
			}
			must(t, client.Close())
			if code := s.wait(t); code != 0 {
				t.Errorf("exit %d, want 0", code)
			}
		})
	}
}

// SPDX-License-Identifier: MIT

package prove

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Requests of a soak go out this many at a time, and a connection is left after so
// many of them.
const (
	soakBatch      = 10
	soakConnection = 500
	soakPatience   = time.Minute // for the answers of one batch
	soakRude       = time.Second // before a rude client leaves, answered or not
	soakRudeMost   = 200         // how often rude clients come: what they wait for is time
)

// A Soak asks a server for a long time on one connection after another and looks at
// it in between, when nothing is under way.
type Soak struct {
	Addr     string
	Requests []string // asked in turns; $N in them is replaced by a number that grows
	Rude     []string // asked now and then, each on a connection of its own that it breaks
	Count    int
	Samples  int                    // looks, evenly spread
	Look     func() (Sample, error) // Requests in it is filled in
	Say      func(string)           // is told how far it is
}

// Run asks and returns what the looks gave.
func (s *Soak) Run(ctx context.Context) (samples []Sample, err error) {
	next := 0
	every := max(1, s.Count/soakConnection/soakRudeMost)
	for asked, connections := 0, 0; asked < s.Count; connections++ {
		if err := ctx.Err(); err != nil {
			return samples, err
		}
		n := min(soakConnection, s.Count-asked)
		if err := s.connection(asked, n); err != nil && ctx.Err() == nil {
			return samples, fmt.Errorf("prove: soak, after %d requests: %w", asked, err)
		}
		if connections%every == 0 {
			if err := s.beRude(asked); err != nil {
				return samples, fmt.Errorf("prove: soak, after %d requests: %w", asked, err)
			}
		}
		if asked += n; asked >= next {
			sample, err := s.Look()
			if err != nil {
				return samples, fmt.Errorf("prove: soak, after %d requests: %w", asked, err)
			}
			sample.Requests = asked
			samples = append(samples, sample)
			next += max(1, s.Count/max(1, s.Samples))
			s.Say(fmt.Sprintf("%d of %d requests, %.1f MB", asked, s.Count, sample.Bytes/1e6))
		}
	}
	return samples, nil
}

// beRude asks for what ends in a broken connection: whatever comes back is right, as
// long as there is somebody to connect to.
func (s *Soak) beRude(number int) error {
	for _, request := range s.Rude {
		c, err := net.Dial("tcp", s.Addr)
		if err != nil {
			return err
		}
		_ = c.SetDeadline(time.Now().Add(soakRude))
		_, _ = io.WriteString(c, strings.ReplaceAll(request, "$N", strconv.Itoa(number)))
		_, _ = c.Read(make([]byte, 1<<10)) // and leave in the middle of an answer
		_ = c.Close()
	}
	return nil
}

// connection asks n times on one connection; where the server closes it, the rest
// goes to another.
func (s *Soak) connection(first, n int) error {
	for done := 0; done < n; {
		c, err := net.Dial("tcp", s.Addr)
		if err != nil {
			return err
		}
		answered, err := s.ask(c, first+done, n-done)
		_ = c.Close() // everything that was asked for is read
		if err != nil {
			return err
		}
		done += answered
	}
	return nil
}

// ask returns how many requests were answered until the server said that it closes.
func (s *Soak) ask(c net.Conn, first, n int) (answered int, err error) {
	r := bufio.NewReader(c)
	for answered < n {
		few := min(soakBatch, n-answered)
		var text strings.Builder
		for i := range few {
			number := first + answered + i
			text.WriteString(strings.ReplaceAll(s.Requests[number%len(s.Requests)], "$N",
				strconv.Itoa(number)))
		}
		_ = c.SetDeadline(time.Now().Add(soakPatience)) // a closed connection fails below
		if _, err := io.WriteString(c, text.String()); err != nil {
			return answered, err
		}
		for range few {
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				return answered, err
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				return answered, err
			}
			answered++
			if res.Close {
				return answered, nil
			}
		}
	}
	return answered, nil
}

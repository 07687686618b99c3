// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// patience bounds a wait for something that has to come.
const patience = 5 * time.Second

// A talk is one connection to the server, read with net/http's own parser.
type talk struct {
	url    string // of the server
	conn   *net.TCPConn
	in     *bufio.Reader
	port   int
	seen   int           // answers read
	got100 chan struct{} // closed by the first 100
	has100 bool
	method []string // of the requests, in order; GET behind the end
}

func dial(url string) (*talk, error) {
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(url, "http://"), patience)
	if err != nil {
		return nil, err
	}
	t := &talk{url: url, conn: conn.(*net.TCPConn), in: bufio.NewReader(conn)}
	t.port = conn.LocalAddr().(*net.TCPAddr).Port
	t.got100 = make(chan struct{})
	return t, nil
}

// send does the steps; an error is of no interest, the server may have closed.
func (t *talk) send(steps []step) {
	for _, s := range steps {
		pause := time.Duration(s.pause) * time.Millisecond
		switch s.do {
		case "send":
			_, _ = t.conn.Write(s.data)
		case "bytes", "drip":
			for i := range s.data {
				if _, err := t.conn.Write(s.data[i : i+1]); err != nil {
					return
				}
				time.Sleep(pause)
			}
		case "sleep":
			time.Sleep(pause)
		case "gap":
			time.Sleep(gap)
		case "shutwr":
			_ = t.conn.CloseWrite()
		case "wait100":
			select {
			case <-t.got100:
			case <-time.After(pause):
			}
		}
	}
}

// An answer is one final response.
type answer struct {
	status int
	header http.Header
	body   []byte
	close  bool
}

// errOpen says that nothing came in time: the connection is open and silent.
var errOpen = errors.New("nothing came")

// read reads the next final response. The error is io.EOF for a connection that
// was closed, errOpen for one that stays open, anything else for a broken answer.
func (t *talk) read(wait time.Duration) (*answer, error) {
	_ = t.conn.SetReadDeadline(time.Now().Add(wait))
	if _, err := t.in.Peek(1); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, errOpen
		}
		return nil, io.EOF
	}
	_ = t.conn.SetReadDeadline(time.Now().Add(max(wait, patience)))
	method := "GET"
	if t.seen < len(t.method) {
		method = t.method[t.seen]
	}
	for {
		resp, err := http.ReadResponse(t.in, &http.Request{Method: method})
		if err != nil {
			return nil, fmt.Errorf("answer %d: %w", t.seen, err)
		}
		if resp.StatusCode == http.StatusContinue {
			if !t.has100 {
				t.has100 = true
				close(t.got100)
			}
			continue
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, fmt.Errorf("answer %d, body: %w", t.seen, err)
		}
		t.seen++
		return &answer{resp.StatusCode, resp.Header, body, resp.Close}, nil
	}
}

// alive sends one more request and reports whether it is answered: the
// connection is open and both ends agree where the next message starts.
func (t *talk) alive() error {
	const path = "/still/there"
	_, _ = t.conn.Write([]byte("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n"))
	a, err := t.read(patience)
	switch {
	case err != nil:
		return fmt.Errorf("the next request: %w", err)
	case a.status != 200 || a.header.Get("X-Path") != path:
		return fmt.Errorf("the next request: status %d for %q", a.status, a.header.Get("X-Path"))
	}
	return nil
}

// handled asks how many requests of this connection reached the application.
func (t *talk) handled(client *http.Client) (int, error) {
	resp, err := client.Get(t.url + "/handled/" + strconv.Itoa(t.port))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}

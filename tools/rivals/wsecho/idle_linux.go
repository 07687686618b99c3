// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// A held is what idle connections take, for programs.
type held struct {
	Sockets int     `json:"sockets"`
	Bytes   float64 `json:"bytes"` // of the server's memory, for each
}

// hold opens connections, uses each once, and asks the server what it has in use with
// them and without.
func hold(addr, path string, sockets int) (held, error) {
	if _, err := used(addr); err != nil { // what is made once is made
		return held{}, err
	}
	before, err := used(addr)
	if err != nil {
		return held{}, err
	}
	talks := make([]*talk, sockets)
	for i := range talks {
		if talks[i], err = open(addr, path); err == nil {
			err = talks[i].once()
		}
		if err != nil {
			return held{}, fmt.Errorf("socket %d: %w", i, err)
		}
	}
	after, err := used(addr)
	for _, t := range talks {
		t.file.Close()
	}
	return held{Sockets: sockets, Bytes: (after - before) / float64(sockets)}, err
}

// once sends a message and waits for it.
func (t *talk) once() error {
	if err := syscall.SetNonblock(t.fd, false); err != nil {
		return err
	}
	err := t.send(time.Now())
	for whole := false; err == nil && !whole; {
		whole, err = t.receive()
	}
	return err
}

// used is what the server says that it has in use, in bytes.
func used(addr string) (float64, error) {
	res, err := http.Get("http://" + addr + "/memory")
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(string(text), 64)
}

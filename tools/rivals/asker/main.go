// SPDX-License-Identifier: MIT

// Command asker is one load on several clients: it asks a server for /, the next
// time on a connection when the answer has come, and reports how many answers
// came and what CPU time that took of this process.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"m0serve.dev/http/client"
)

// A result is what a run has to say, for programs.
type result struct {
	Answers int64   `json:"answers"`
	Rate    float64 `json:"rate"`
	CPU     float64 `json:"cpu_us"` // of an answer
}

// An ask makes one request and returns the length of its body.
type ask func() (int, error)

func main() {
	side := flag.String("side", "ours", "ours, nethttp, fasthttp or bare")
	addr := flag.String("addr", "127.0.0.1:8080", "the server")
	length := flag.Int("bytes", 1024, "the body that is expected")
	conns := flag.Int("conns", 1, "connections, each with a goroutine")
	seconds := flag.Float64("seconds", 2, "length of the run")
	flag.Parse()
	r, err := run(*side, "http://"+*addr+"/", *length, *conns,
		time.Duration(*seconds*float64(time.Second)))
	if err != nil {
		fmt.Fprintln(os.Stderr, "asker:", err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		os.Exit(1)
	}
}

func run(side, url string, want, conns int, length time.Duration) (result, error) {
	newAsk, err := clientOf(side, url, conns)
	if err != nil {
		return result{}, err
	}
	var answers atomic.Int64
	var failed atomic.Value
	var over atomic.Bool
	var all sync.WaitGroup
	for range conns {
		ask := newAsk()
		if _, err := ask(); err != nil { // connects
			return result{}, err
		}
		all.Go(func() {
			for !over.Load() {
				if n, err := ask(); err != nil || n != want {
					failed.Store(fmt.Errorf("%s: a body of %d bytes, %w", side, n, err))
					return
				}
				answers.Add(1)
			}
		})
	}
	start, cpu := time.Now(), spent()
	before := answers.Load()
	time.Sleep(length)
	n := answers.Load() - before
	took, used := time.Since(start), spent()-cpu
	over.Store(true)
	all.Wait()
	if err, ok := failed.Load().(error); ok {
		return result{}, err
	}
	return result{n, float64(n) / took.Seconds(), float64(used.Microseconds()) / float64(max(n, 1))},
		nil
}

// clientOf gives what makes an ask for one goroutine. Each side reads the whole
// body into memory that it uses again.
func clientOf(side, url string, conns int) (func() ask, error) {
	switch side {
	case "ours":
		c := client.New(client.Config{PerHost: conns})
		return func() ask {
			var resp client.Response
			req := client.Request{URL: url}
			return func() (int, error) {
				err := c.Do(context.Background(), &req, &resp)
				return len(resp.Body), err
			}
		}, nil
	case "nethttp":
		c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns}}
		return func() ask { return askNetHTTP(c, url) }, nil
	case "fasthttp":
		c := &fasthttp.Client{MaxConnsPerHost: conns}
		return func() ask {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			return func() (int, error) {
				req.SetRequestURI(url)
				err := c.Do(req, resp)
				return len(resp.Body()), err
			}
		}, nil
	case "bare":
		return func() ask { return askBare(strings.TrimSuffix(url[len("http://"):], "/")) }, nil
	}
	return nil, fmt.Errorf("no client is called %q", side)
}

// askBare writes and reads bytes that it does not look at: what no client on the
// runtime's network poller can undercut.
func askBare(addr string) ask {
	c, err := net.Dial("tcp", addr)
	buf := make([]byte, 64<<10)
	request := []byte("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
	return func() (int, error) {
		if err != nil {
			return 0, err
		}
		if _, err := c.Write(request); err != nil {
			return 0, err
		}
		n, err := c.Read(buf)
		return n - bytes.Index(buf[:n], []byte("\r\n\r\n")) - 4, err
	}
}

func askNetHTTP(c *http.Client, url string) ask {
	buf := make([]byte, 64<<10)
	return func() (int, error) {
		resp, err := c.Get(url)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		n, err := io.ReadFull(resp.Body, buf)
		if err == io.ErrUnexpectedEOF {
			err = nil
		}
		return n, err
	}
}

// spent is the CPU time of this process so far.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

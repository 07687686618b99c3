// SPDX-License-Identifier: MIT

package fanout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"m0serve.dev/tools/internal/bench"
)

// Of streams that are being opened at once. Pushpin answers 502 above some number.
const (
	inflightUsual   = 200
	inflightPushpin = 20
)

// probeTime bounds one look whether a server answers.
const probeTime = 2 * time.Second

// publishKey is that of the HTTP door while a bench runs.
const publishKey = "the key of a bench has 32 bytes!"

// House is where everything of a run lies.
type House struct {
	Python  string // interpreter with Django
	Command string // m0serve, the library beside it
	Rivals  string // the program of tools/rivals/fanout
	Crowd   string // the program of tools/rivals/crowd
	Apps    string // folder of the applications
	Pub     string // folder that holds the package m0pub
	Dir     string // for configurations and sockets; short, and removed by its owner
}

// served is a side that runs.
type served struct {
	*bench.Server
	side            string
	form, door, key string        // how the crowd publishes
	inflight        int           // streams to open at once
	empty           float64       // bytes in use before the first stream, see inUse
	behind          *bench.Server // the application of a side that is a proxy
}

func (s *served) stop() {
	s.Server.Stop()
	if s.behind != nil {
		s.behind.Stop()
	}
}

// An option says how a side is started.
type option struct {
	workers int
	free    bool // on any core
}

// start starts a side and waits until it answers.
func (h House) start(ctx context.Context, side string, o option) (*served, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	addr := "127.0.0.1:" + strconv.Itoa(ports[0])
	s := &served{side: side, form: "raw", door: addr + "/pub", inflight: inflightUsual}
	p := bench.Program{Addr: addr, Dir: h.Dir, Free: o.free}
	switch side {
	case ours, oursGRIP:
		h.m0serve(&p, s, ports[1], o.workers)
	case nchan:
		err = h.nchan(&p, ports[0])
	case pushpin:
		s.inflight = inflightPushpin
		err = h.pushpin(ctx, &p, s, ports)
	case daphne:
		err = h.daphne(ctx, &p, s, ports)
	default:
		p.Args = []string{h.Rivals, "-engine", side, "-addr", addr}
	}
	if err == nil {
		s.Server, err = bench.Launch(ctx, p)
	}
	if err == nil {
		err = s.Wait(ctx, func() (bool, error) { return probe(ctx, addr) })
		if err != nil {
			s.Server.Stop()
		}
	}
	if err != nil {
		if s.behind != nil {
			s.behind.Stop()
		}
		return nil, err
	}
	return s, nil
}

// m0serve is ours: m0pub's socket, or the HTTP door with GRIP's items.
func (h House) m0serve(p *bench.Program, s *served, port, workers int) {
	socket, door := filepath.Join(h.Dir, "publish"), "127.0.0.1:"+strconv.Itoa(port)
	p.Args = append(h.django(p.Addr), "--realtime", "--workers", strconv.Itoa(max(1, workers)),
		"--publish-http", door, "--publish-key", publishKey)
	p.Dir, p.Env = h.Apps, append(h.environ(), "M0_PUBLISH_SOCKET="+socket)
	s.form, s.door = "m0pub", socket
	if s.side == oursGRIP {
		s.form, s.door, s.key = "grip", door+"/publish/", publishKey
	}
}

// django is the command that serves the application without anything realtime.
func (h House) django(addr string) []string {
	return []string{h.Command, "-b", addr, "--python", h.Python, "--log-level", "warn", "held:app"}
}

// environ keeps the folder of the applications, which is in the tree, as it is.
func (h House) environ() []string {
	return []string{"PYTHONDONTWRITEBYTECODE=1",
		"PYTHONPATH=" + h.Apps + string(filepath.ListSeparator) + h.Pub}
}

// probe asks once whether a server answers.
func probe(ctx context.Context, addr string) (bool, error) {
	_, err := get(ctx, &http.Client{Timeout: probeTime}, addr, "/ping")
	return err == nil, err
}

// listens asks once whether anything listens at addr.
func listens(addr string) (bool, error) {
	c, err := net.DialTimeout("tcp", addr, probeTime)
	if err == nil {
		_ = c.Close() // it answered
	}
	return err == nil, err
}

// get returns the body of a good answer.
func get(ctx context.Context, c *http.Client, addr, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return nil, fmt.Errorf("fanout: %w", err)
	}
	answer, err := c.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fanout: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("fanout: GET %s: %w", path, err)
	}
	return body, nil
}

// freePorts returns ports on which nothing listens now.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("fanout: %w", err)
		}
		defer ln.Close() // all are open until the last is found
		ports = append(ports, ln.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

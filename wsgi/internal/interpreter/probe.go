// SPDX-License-Identifier: MIT

package interpreter

import (
	"bytes"
	"context"
	_ "embed" // for the script
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"time"
)

//go:embed probe.py
var script string

// marker opens the line of the answer, so that what site hooks print beside it
// does no harm.
const marker = "m0serve-probe"

const (
	// probeTimeout bounds the run: a start takes some 20 ms, or seconds on a
	// cold network disk.
	probeTimeout = 10 * time.Second
	// probeOutput bounds what the interpreter may print.
	probeOutput = 1 << 20
)

// probe runs the executable and asks what it is.
func probe(ctx context.Context, c *Config, origin, path string) (*Python, *Error) {
	bound := c.Timeout
	if bound == 0 {
		bound = probeTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-c", script, marker)
	cmd.Dir, cmd.Env = c.Dir, c.Environ
	out, errs := &capped{most: probeOutput}, &capped{most: probeOutput}
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.WaitDelay = time.Second // for what it started and left behind with its streams
	err := cmd.Run()
	refuse := func(reason, cure string) (*Python, *Error) {
		return nil, &Error{Origin: origin, Path: path, Reason: reason, Cure: cure}
	}
	p := &Python{Origin: origin}
	switch answer, ok := findAnswer(out.String()); {
	case ok && json.Unmarshal([]byte(answer), p) == nil && p.Executable != "":
		return p, nil
	case ctx.Err() != nil:
		return refuse(fmt.Sprintf("it did not start within %v", bound),
			"run it by hand with -c pass, and look for a hook in its site-packages")
	case err == nil:
		return refuse("it does not answer like a Python", "name an interpreter")
	}
	if last := lastLine(errs.String()); last != "" {
		return refuse("it does not run: "+last, "name another one with --python")
	}
	return refuse(fmt.Sprintf("it does not run: %v", cause(err)), "name another one with --python")
}

// cause is the error without the path, which the message has already.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// findAnswer is the text behind the marker.
func findAnswer(out string) (string, bool) {
	for line := range strings.Lines(out) {
		if answer, ok := strings.CutPrefix(line, marker+" "); ok {
			return answer, true
		}
	}
	return "", false
}

// lastLine is the last line that says something, as a Python error does.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	const most = 300
	last := strings.TrimSpace(lines[len(lines)-1])
	if len(last) > most {
		last = last[:most] + "…"
	}
	return last
}

// capped keeps the first bytes that are written to it and drops the rest.
type capped struct {
	bytes.Buffer
	most int
}

// Write implements io.Writer and never fails.
func (c *capped) Write(b []byte) (int, error) {
	if room := c.most - c.Len(); room > 0 {
		c.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

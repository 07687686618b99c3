// SPDX-License-Identifier: MIT

// Package proc runs commands for the tools. A command runs in a process group of
// its own, and the whole group is ended when its time is over, so that nothing a
// test started outlives the tools.
package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// lineBytesMax bounds one line handed to OnLine; the rest of it is dropped.
const lineBytesMax = 1 << 20

// Cmd is one command.
type Cmd struct {
	Dir    string
	Env    []string     // added to the environment of the tools
	Args   []string     // the name of the program first
	OnLine func(string) // called for each line of both outputs, nil: kept for the error
}

// ErrTimeout reports that the context of Run ended first.
var ErrTimeout = errors.New("proc: out of time")

// Run runs the command and returns what it printed when OnLine is nil. The error
// of a command that failed holds its output.
func Run(ctx context.Context, c Cmd) (string, error) {
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), c.Env...)
	ownGroup(cmd)
	out := &lines{onLine: c.OnLine}
	pr, pw := io.Pipe()
	cmd.Stdout, cmd.Stderr = pw, pw
	var read sync.WaitGroup
	read.Go(func() { out.read(pr) })
	if err := cmd.Start(); err != nil {
		pw.Close()
		read.Wait()
		return "", fmt.Errorf("%s: %w", strings.Join(c.Args, " "), err)
	}
	err := wait(ctx, cmd)
	pw.Close()
	read.Wait()
	text := out.text.String()
	if err != nil {
		return text, fmt.Errorf("%s%s: %w", text, strings.Join(c.Args, " "), err)
	}
	return text, nil
}

// wait waits for the command and ends its group when ctx ends first. What the
// command left behind in its group is ended too.
func wait(ctx context.Context, cmd *exec.Cmd) error {
	cmd.WaitDelay = 5 * time.Second
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		killGroup(cmd)
		return err
	case <-ctx.Done():
		killGroup(cmd)
		<-done
		return ErrTimeout
	}
}

// lines cuts what a command prints into lines.
type lines struct {
	onLine func(string)
	text   strings.Builder
}

func (l *lines) read(r io.Reader) {
	in := bufio.NewReaderSize(r, lineBytesMax)
	for {
		slice, err := in.ReadSlice('\n')
		line := string(slice)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		switch {
		case l.onLine == nil:
			l.text.WriteString(line)
		case line != "":
			l.onLine(strings.TrimSuffix(line, "\n"))
		}
		if err != nil {
			return
		}
	}
}

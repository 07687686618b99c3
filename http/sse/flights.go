// SPDX-License-Identifier: MIT

package sse

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// flights lets all who need the same snapshot at one moment share one
// computation, so that a deploy does not ask a database once for every stream.
type flights struct {
	mu      sync.Mutex
	running map[string]*flight
}

type flight struct {
	done  chan struct{}
	frame *Frame
	err   error
}

// do computes the frame, or joins a computation that is under way. It is not
// tied to the caller that happened to start it.
func (fs *flights) do(
	ctx context.Context, key string,
	snapshot func(context.Context) ([]byte, uint64, error),
) (frame *Frame, joined bool, err error) {
	fs.mu.Lock()
	f := fs.running[key]
	joined = f != nil
	if !joined {
		f = &flight{done: make(chan struct{})}
		if fs.running == nil {
			fs.running = make(map[string]*flight)
		}
		fs.running[key] = f
		go fs.run(context.WithoutCancel(ctx), key, f, snapshot)
	}
	fs.mu.Unlock()
	select {
	case <-f.done:
		return f.frame, joined, f.err
	case <-ctx.Done():
		return nil, joined, ctx.Err()
	}
}

func (fs *flights) run(
	ctx context.Context, key string, f *flight,
	snapshot func(context.Context) ([]byte, uint64, error),
) {
	defer func() {
		if v := recover(); v != nil {
			f.err = fmt.Errorf("sse: snapshot: panic: %v", v)
		}
		fs.mu.Lock()
		delete(fs.running, key)
		fs.mu.Unlock()
		close(f.done)
	}()
	body, id, err := snapshot(ctx)
	if err != nil {
		f.err = fmt.Errorf("sse: snapshot: %w", err)
		return
	}
	f.frame = NewFrame(id, "", "", body)
}

func sortFrames(frames []*Frame) {
	slices.SortStableFunc(frames, func(a, b *Frame) int {
		switch {
		case a.id < b.id:
			return -1
		case a.id > b.id:
			return 1
		}
		return 0
	})
}

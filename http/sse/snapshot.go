// SPDX-License-Identifier: MIT

package sse

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// snapshotTimeout bounds one computation: those who wait for it wait no longer.
const snapshotTimeout = 30 * time.Second

// flights lets all who need the same snapshot at one moment share one
// computation, so that a deploy does not ask a database once for every stream.
type flights struct {
	mu      sync.Mutex
	running map[string]*flight
	begun   uint64
	failed  uint64
}

type flight struct {
	done  chan struct{}
	frame *Frame
	err   error
}

// do computes the frame, or joins a computation that is under way. That is not
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
		fs.begun++
		go fs.run(context.WithoutCancel(ctx), key, f, snapshot)
	}
	fs.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
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
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			f.err = fmt.Errorf("sse: snapshot: panic: %v", v)
		}
		fs.mu.Lock()
		delete(fs.running, key)
		if f.err != nil {
			fs.failed++
		}
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

func (fs *flights) counts() (begun, failed uint64) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.begun, fs.failed
}

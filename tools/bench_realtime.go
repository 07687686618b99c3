// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"slices"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/fanout"
)

const realtimeRounds = 3

// benchRealtime measures streams that m0serve holds beside other hubs.
func (e *env) benchRealtime(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	return e.fanout(s, o, fanout.Workloads(o.quick), e.realtimeHouse)
}

// benchStreams measures streams that a Go program holds beside libraries and hubs.
func (e *env) benchStreams(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	return e.fanout(s, o, fanout.StreamsWorkloads(o.quick), e.streamsHouse)
}

// fanout measures workloads and prints a table of each.
func (e *env) fanout(s *console.Step, o benchOptions, all []fanout.Workload,
	build func(*console.Step) (fanout.House, func(), error)) ([]bench.Figure, error) {
	workloads, err := chooseFanout(all, o)
	if err != nil {
		return nil, err
	}
	house, remove, err := build(s)
	if err != nil {
		return nil, err
	}
	defer remove()
	r := fanout.Runner{House: house, Rounds: o.rounds(realtimeRounds), Say: s.Doing}
	var figures []bench.Figure
	for _, w := range workloads {
		rows, err := r.Run(e.ctx, w)
		if err != nil {
			return figures, err
		}
		s.Printf("\n%s: %s; %d streams, %d events of %d bytes\n%s", w.Kind, w.What,
			w.Streams+w.Deaf, w.Times, w.Bytes, w.Table(rows))
		for _, row := range rows {
			o.table(row)
		}
		figures = append(figures, w.Figures(rows)...)
	}
	return figures, nil
}

// chooseFanout leaves out what the flags do not name. Ours always runs.
func chooseFanout(all []fanout.Workload, o benchOptions) ([]fanout.Workload, error) {
	var chosen []fanout.Workload
	var names []string
	for _, w := range all {
		names = append(names, string(w.Kind))
		if !o.wants(string(w.Kind)) {
			continue
		}
		w.Sides = slices.DeleteFunc(slices.Clone(w.Sides), func(side string) bool {
			return w.CanDrop(side) && !o.wantsSide(side)
		})
		chosen = append(chosen, w)
	}
	if len(chosen) == 0 {
		return nil, o.noWorkload(names)
	}
	return chosen, nil
}

// realtimeHouse makes everything that the sides need, but for those of the system.
func (e *env) realtimeHouse(s *console.Step) (h fanout.House, remove func(), err error) {
	if h, remove, err = e.streamsHouse(s); err != nil {
		return h, nil, err
	}
	h.Command = filepath.Join(h.Dir, "m0serve")
	v, err := e.readyVenv(s)
	if err == nil {
		h.Python = v.Python()
		err = e.buildM0serve(s, h.Command)
	}
	if err != nil {
		remove()
		return h, nil, err
	}
	return h, remove, nil
}

// streamsHouse is realtimeHouse without Python. Sockets lie in the folder, so its path
// has to be short.
func (e *env) streamsHouse(s *console.Step) (h fanout.House, remove func(), err error) {
	dir, err := os.MkdirTemp("", "m0-bench-")
	if err != nil {
		return h, nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	h = fanout.House{Rivals: filepath.Join(dir, "fanout"), Crowd: filepath.Join(dir, "crowd"),
		Dir: dir, Apps: filepath.Join(e.top, "tools", "rivals", "python"),
		Pub: filepath.Join(e.top, "wsgi", "python")}
	err = e.goBuild(s, "tools/rivals", "-o", dir+string(filepath.Separator), "./fanout", "./crowd")
	if err != nil {
		remove()
		return h, nil, err
	}
	return h, remove, nil
}

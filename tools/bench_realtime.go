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
	workloads, err := chooseFanout(fanout.Workloads(o.quick), o)
	if err != nil {
		return nil, err
	}
	house, remove, err := e.realtimeHouse(s)
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
// Sockets lie in the folder, so its path has to be short.
func (e *env) realtimeHouse(s *console.Step) (h fanout.House, remove func(), err error) {
	dir, err := os.MkdirTemp("", "m0-bench-")
	if err != nil {
		return h, nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	h = fanout.House{Command: filepath.Join(dir, "m0serve"), Rivals: filepath.Join(dir, "fanout"),
		Crowd: filepath.Join(dir, "crowd"), Dir: dir,
		Apps: filepath.Join(e.top, "tools", "rivals", "python"),
		Pub:  filepath.Join(e.top, "wsgi", "python")}
	v, err := e.readyVenv(s)
	if err == nil {
		h.Python = v.Python()
		err = e.buildM0serve(s, h.Command)
	}
	if err == nil {
		err = e.goBuild(s, "tools/rivals", "-o", dir+string(filepath.Separator), "./fanout", "./crowd")
	}
	if err != nil {
		remove()
		return h, nil, err
	}
	return h, remove, nil
}

// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// busyLoad is the load of a machine on which a pinned server has a neighbour.
const busyLoad = 1

// Machine says where figures were measured.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	Load   string `json:"load"` // of the last minute, before the run
	Pinned bool   `json:"pinned"`
}

// ThisMachine looks at the machine it runs on.
func ThisMachine() Machine {
	return Machine{
		CPU:    cpuName(readText("/proc/cpuinfo")),
		Cores:  runtime.NumCPU(),
		Kernel: runtime.GOOS + " " + strings.TrimSpace(readText("/proc/sys/kernel/osrelease")),
		Go:     runtime.Version(),
		Load:   firstWord(readText("/proc/loadavg")),
		Pinned: canPin(),
	}
}

// String is the line above a run.
func (m Machine) String() string {
	pinned := "server and load share the cores"
	if m.Pinned {
		pinned = "server on core 0, load on core 1"
	}
	return fmt.Sprintf("%s, %d cores, %s, %s, load %s before the run; %s",
		m.CPU, m.Cores, m.Kernel, m.Go, m.Load, pinned)
}

// IsBusy reports whether other work ran in the last minute.
func (m Machine) IsBusy() bool {
	load, err := strconv.ParseFloat(m.Load, 64)
	return err == nil && load > busyLoad
}

// canPin reports whether server and load can have a core each.
func canPin() bool {
	_, err := exec.LookPath("taskset")
	return err == nil && runtime.NumCPU() >= 2
}

// Pin puts a command on a core where that is possible.
func Pin(core int, args ...string) []string {
	if !canPin() {
		return args
	}
	return append([]string{"taskset", "-c", strconv.Itoa(core)}, args...)
}

func cpuName(cpuinfo string) string {
	for _, line := range strings.Split(cpuinfo, "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.HasPrefix(name, "model name") {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// coreTimes is how long each core was busy and existed, in ticks.
type coreTimes []struct{ busy, all float64 }

// readCores reads the times of all cores out of the text of /proc/stat.
func readCores(stat string) coreTimes {
	var cores coreTimes
	for _, line := range strings.Split(stat, "\n") {
		word := strings.Fields(line)
		if len(word) < 6 || !strings.HasPrefix(word[0], "cpu") || word[0] == "cpu" {
			continue
		}
		var all, idle float64
		for i, w := range word[1:] {
			x, err := strconv.ParseFloat(w, 64)
			if err != nil {
				continue
			}
			all += x
			if i == 3 || i == 4 { // idle, waiting for a disk
				idle += x
			}
		}
		cores = append(cores, struct{ busy, all float64 }{all - idle, all})
	}
	return cores
}

// shares returns how busy each core was between two readings, from 0 to 1.
func shares(before, after coreTimes) []float64 {
	var out []float64
	for i := range min(len(before), len(after)) {
		all := after[i].all - before[i].all
		if all == 0 {
			out = append(out, 0)
			continue
		}
		out = append(out, (after[i].busy-before[i].busy)/all)
	}
	return out
}

// busySince says how busy each core was between two readings.
func busySince(before, after coreTimes) string {
	var parts []string
	for i, share := range shares(before, after) {
		parts = append(parts, fmt.Sprintf("core %d %.0f %%", i, 100*share))
	}
	return "busy: " + strings.Join(parts, ", ")
}

func readText(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return string(text)
}

func firstWord(text string) string {
	if word := strings.Fields(text); len(word) > 0 {
		return word[0]
	}
	return "unknown"
}

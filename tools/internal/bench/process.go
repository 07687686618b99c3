// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is Linux's unit of a process's time, the same on every
// architecture Go runs on.
const ticksPerSecond = 100

// Memory is what processes hold, in MB of 2^20 bytes.
type Memory struct {
	Pss float64 `json:"pss_mb"` // pages that others use too are shared out
	RSS float64 `json:"rss_mb"`
}

// family returns a process and all its descendants, the process first. A child
// whose parent has ended is no longer in it.
func family(root int) []int {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if parent, ok := parentOf(readText(fmt.Sprintf("/proc/%d/stat", pid))); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	pids := []int{root}
	for i := 0; i < len(pids); i++ {
		pids = append(pids, children[pids[i]]...)
	}
	return pids
}

// parentOf reads the text of /proc/PID/stat.
func parentOf(stat string) (int, bool) {
	word := afterName(stat)
	if len(word) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(word[1])
	return parent, err == nil
}

// afterName returns the words of /proc/PID/stat from the state on. The name of the
// program before it, in brackets, may hold anything.
func afterName(stat string) []string {
	return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
}

// parseCPU reads user and system time out of the text of /proc/PID/stat.
func parseCPU(stat string) (time.Duration, error) {
	word := afterName(stat)
	if len(word) < 13 || !strings.Contains(stat, ")") {
		return 0, errors.New("bench: no times of the server's process")
	}
	user, err1 := strconv.ParseInt(word[11], 10, 64)
	system, err2 := strconv.ParseInt(word[12], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, fmt.Errorf("bench: times of the server's process: %w", err)
	}
	return time.Duration(user+system) * time.Second / ticksPerSecond, nil
}

// parseMemory reads the text of /proc/PID/smaps_rollup.
func parseMemory(rollup string) Memory {
	var m Memory
	for line := range strings.Lines(rollup) {
		word := strings.Fields(line)
		if len(word) < 3 {
			continue
		}
		kb, err := strconv.ParseFloat(word[1], 64)
		if err != nil {
			continue
		}
		switch word[0] {
		case "Pss:":
			m.Pss = kb / 1024
		case "Rss:":
			m.RSS = kb / 1024
		}
	}
	return m
}

// switches adds up how often the threads of a process have left a core, by themselves or
// for others: a process whose sum stays has not run.
func switches(pid int) (sum int) {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks { // one that ended has none
		sum += parseSwitches(readText(fmt.Sprintf("/proc/%d/task/%s/status", pid, task.Name())))
	}
	return sum
}

// parseSwitches reads the text of /proc/PID/task/TID/status.
func parseSwitches(status string) (sum int) {
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil &&
			strings.HasSuffix(name, "voluntary_ctxt_switches") {
			sum += n
		}
	}
	return sum
}

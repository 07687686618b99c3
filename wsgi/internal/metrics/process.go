// SPDX-License-Identifier: MIT

package metrics

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// A Process is what the system knows of a process.
type Process struct {
	CPU      float64 // seconds, user and system
	Started  float64 // seconds since 1970
	Resident int64   // bytes
	Virtual  int64   // bytes
	OpenFDs  int
	MaxFDs   int64 // 0: no limit
	Threads  int
}

// ticks is USER_HZ, which Linux fixes for every architecture Go runs on.
const ticks = 100

var errStat = errors.New("metrics: /proc/<pid>/stat is not what it was")

// ReadProcess reads /proc, which Linux has. pid 0 is this process.
func ReadProcess(pid int) (*Process, error) {
	dir := "/proc/self/"
	if pid != 0 {
		dir = "/proc/" + strconv.Itoa(pid) + "/"
	}
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	boot, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	p, err := parseStat(string(stat), bootTime(string(boot)), int64(os.Getpagesize()))
	if err != nil {
		return nil, err
	}
	// Another user's descriptors are not for us to count: these two may fail.
	if fds, err := os.ReadDir(dir + "fd"); err == nil {
		p.OpenFDs = len(fds)
	}
	if limits, err := os.ReadFile(dir + "limits"); err == nil {
		p.MaxFDs = maxFDs(string(limits))
	}
	return p, nil
}

// parseStat reads proc_pid_stat(5). The name in its brackets may have anything
// in it, brackets too.
func parseStat(stat string, boot, page int64) (*Process, error) {
	end := strings.LastIndexByte(stat, ')')
	f := strings.Fields(stat[end+1:])
	const state = 3 // the number in the manual of the first field behind the name
	if end < 0 || len(f) <= 24-state {
		return nil, errStat
	}
	var n [25]int64
	for _, i := range []int{14, 15, 20, 22, 23, 24} {
		v, err := strconv.ParseInt(f[i-state], 10, 64)
		if err != nil {
			return nil, errStat
		}
		n[i] = v
	}
	return &Process{
		CPU:      float64(n[14]+n[15]) / ticks,
		Threads:  int(n[20]),
		Started:  float64(boot) + float64(n[22])/ticks,
		Virtual:  n[23],
		Resident: n[24] * page,
	}, nil
}

// bootTime is the btime line of /proc/stat.
func bootTime(stat string) int64 {
	_, after, _ := strings.Cut(stat, "\nbtime ")
	line, _, _ := strings.Cut(after, "\n")
	n, _ := strconv.ParseInt(line, 10, 64) // 0 is as good as unknown
	return n
}

// maxFDs is the soft limit in /proc/<pid>/limits.
func maxFDs(limits string) int64 {
	_, after, _ := strings.Cut(limits, "Max open files")
	if f := strings.Fields(after); len(f) > 0 {
		n, _ := strconv.ParseInt(f[0], 10, 64) // "unlimited" is 0
		return n
	}
	return 0
}

// SPDX-License-Identifier: MIT

package diagnosis

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
)

// TryListen listens on a TCP address for a moment. A problem is a clause without
// its subject; the cure names option, which sets the port.
func TryListen(address, option string) (problem, cure string) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		problem, cure, _ = ListenProblem(address, option, err)
		return problem, cure
	}
	_ = ln.Close() // nothing was accepted
	return "", ""
}

// ListenProblem says what an error of listening on a TCP address means, in the words
// of TryListen. ofPort tells that another port is a cure, and not another host.
func ListenProblem(address, option string, err error) (problem, cure string, ofPort bool) {
	_, port, _ := net.SplitHostPort(address)
	var dns *net.DNSError
	switch {
	case isTaken(err):
		return "is taken by another process", "see which: ss -ltnp 'sport = :" + port +
			"'; stop it, or choose another with " + option, true
	case errors.Is(err, fs.ErrPermission):
		return "needs the right to ports below 1024", "choose a higher one with " + option +
			", or give it: setcap cap_net_bind_service=+ep, or AmbientCapabilities= of systemd", true
	case isAbsent(err):
		return "is no address of this machine",
			"use 127.0.0.1, 0.0.0.0 or one that ip address shows", false
	case errors.As(err, &dns):
		return "has a name that is not known here (" + dns.Err + ")",
			"use 127.0.0.1, 0.0.0.0 or a name that getent ahosts finds", false
	}
	return "cannot be listened on (" + cause(err).Error() + ")", "choose another address", false
}

// cause is the innermost reason of a network error.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var system *os.SyscallError
	if errors.As(err, &system) {
		return system.Err
	}
	return err
}

// spareFiles is what a process needs beside its connections: the loop, the bus,
// files and connections of the application.
const spareFiles = 128

// connectionsFew is what held streams and slow clients soon use up.
const connectionsFew = 4096

// Descriptors compares the descriptors that a process may have with the
// connections that are asked for. source says where that number came from, ""
// for the default, which asks for more than most machines give; option sets it.
func (r *Report) Descriptors(asked int, source, option string) {
	const section = "Limits"
	limit, known := fileLimit()
	if !known || limit == 0 || asked <= 0 {
		return
	}
	want, need := uint64(asked), uint64(asked)+spareFiles
	fits := limit - min(limit-1, spareFiles)
	text := fmt.Sprintf("%d for a process: %d connections fit", limit, min(fits, want))
	switch cure := fmt.Sprintf("raise the hard limit (ulimit -Hn %d, LimitNOFILE=%d in a unit), "+
		"or set %s %d", need, need, option, fits); {
	case limit >= need:
		r.Add(section, Good, "descriptors", text, "")
	case source != "":
		r.Add(section, Problem, "descriptors",
			fmt.Sprintf("%s, and %s asks for %d", text, source, want), cure)
	case fits < connectionsFew:
		r.Add(section, Warning, "descriptors", text, cure)
	default:
		r.Add(section, Good, "descriptors", text, "")
	}
}

// IsTerminal tells whether colours and signs are welcome; see no-color.org.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 &&
		os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && os.Getenv("TERM") != ""
}

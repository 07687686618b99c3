// SPDX-License-Identifier: MIT

package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"m0serve.dev/http/config/diagnosis"
	"m0serve.dev/wsgi/internal/options"
)

// listen makes the listener of an address, or takes one that is there.
func listen(b options.Bind) (net.Listener, error) {
	switch b.Network {
	case "fd":
		return listenFD(b.Address)
	case "unix":
		return listenUnix(b.Address)
	}
	return listenTCP(b.Address, "--port")
}

// listenTCP listens at an address that the option chooses.
func listenTCP(address, option string) (net.Listener, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		_, cure, _ := diagnosis.ListenProblem(address, option, err)
		return nil, fmt.Errorf("%w: %s", err, cure)
	}
	return ln, nil
}

// errNoListener is a wrong setting: trying again does not help.
var errNoListener = errors.New("not a listening socket")

func listenFD(number string) (net.Listener, error) {
	fd, err := strconv.Atoi(number)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "fd://"+number)
	if file == nil {
		return nil, fmt.Errorf("%w: no descriptor of that number is open", errNoListener)
	}
	defer file.Close() // the listener is a copy
	ln, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w: name one that was handed down, or use --bind HOST:PORT",
			errNoListener, err)
	}
	return ln, nil
}

// errInTheWay is a wrong setting, too: what is no socket is somebody's file, and stays.
var errInTheWay = errors.New("there is a file that is no socket: choose another path")

// listenUnix takes the place of a socket that nobody listens at any more.
func listenUnix(path string) (net.Listener, error) {
	ln, err := net.Listen("unix", path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: make its directory first", err)
	case !errors.Is(err, syscall.EADDRINUSE) || strings.HasPrefix(path, "@"):
		return ln, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket == 0 {
		return nil, errInTheWay
	}
	conn, errDial := net.Dial("unix", path)
	if errDial == nil {
		conn.Close()
		return nil, err
	}
	if errRemove := os.Remove(path); errRemove != nil {
		return nil, errRemove
	}
	return net.Listen("unix", path)
}

// SPDX-License-Identifier: MIT

package publish

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"m0serve.dev/http/internal/sys"
)

// Env names the socket: to a service the path to listen at, or Off, and to a
// publisher the path to connect to. A service exports the path of its socket
// under this name to its workers, whose children have it too.
const Env = "M0_PUBLISH_SOCKET"

// Off as the value of Env is no socket at all.
const Off = "off"

// ListenCure is what helps where a socket that was configured cannot be made, a clause.
const ListenCure = "make its directory, end who listens there, or name another path with " + Env

// leftSuffix is what a socket's name ends in once its service is leaving.
const leftSuffix = ".old"

// dialTimeout bounds the look whether somebody listens.
const dialTimeout = time.Second

// ErrInUse is a path at which another service listens.
var ErrInUse = errors.New("publish: another service listens there")

// ListenConfig says where a service listens. The zero value is a socket named
// after the process in the place for the working directory.
type ListenConfig struct {
	Path string // as the operator says; "": derived from Dir and Name
	Dir  string // of the service, by which publishers find it; "": the working directory
	Name string // tells the services of one directory apart, such as the address; "": the pid
}

// A Socket is the listening socket of a service, in the process that made it.
type Socket struct {
	path string
	ln   *net.UnixListener
	file fs.FileInfo // of the socket, to know it again
	own  bool        // its directory is the one of Place
}

// Listen makes the socket. A path at which nobody listens any more is taken over;
// one at which somebody does is ErrInUse when it was configured, and otherwise
// the socket gets a number behind its name. The error wraps
// errors.ErrUnsupported on systems where a socket cannot tell who connects.
func Listen(c ListenConfig) (*Socket, error) {
	if !sys.HasPublish {
		return nil, fmt.Errorf("publish: no publish socket: %w", errors.ErrUnsupported)
	}
	if c.Path != "" {
		path, err := filepath.Abs(c.Path) // children may have another directory
		if err != nil {
			return nil, fmt.Errorf("publish: socket %s: %w", c.Path, err)
		}
		return listenAt(path)
	}
	home, err := makeHome(os.Geteuid())
	if err != nil {
		return nil, err
	}
	defer home.Close() // and with it the lock
	dir, err := Place(c.Dir)
	if err != nil {
		return nil, err
	}
	sweep(home.Name())
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("publish: %w", err)
	}
	for i := 1; ; i++ {
		s, err := listenAt(c.pathIn(dir, i))
		switch {
		case err == nil:
			s.own = true
			return s, nil
		case !errors.Is(err, ErrInUse) || i == sameNameMax:
			return nil, err
		}
	}
}

// pathIn is the path in a place of the i-th service that has the name, from 1 on.
func (c *ListenConfig) pathIn(dir string, i int) string {
	name := tidyName(cmp.Or(c.Name, fmt.Sprintf("pid-%d", os.Getpid())))
	return filepath.Join(dir, name+sameName(i)+".sock")
}

// Look says at which path Listen would make its socket, or why it would make none: the
// path is the one in question then, if there is one. Nothing is made and nothing removed.
func Look(c ListenConfig) (path string, err error) {
	if !sys.HasPublish {
		return "", fmt.Errorf("publish: no publish socket: %w", errors.ErrUnsupported)
	}
	if c.Path != "" {
		if path, err = filepath.Abs(c.Path); err == nil {
			err = cmp.Or(lookPlace(path), lookPath(path))
		}
		if err != nil {
			err = fmt.Errorf("publish: socket %s: %w", c.Path, err)
		}
		return path, err
	}
	if err := lookHome(os.Geteuid()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return homeOf(os.Geteuid()), err
	}
	dir, err := Place(c.Dir)
	if err != nil {
		return "", err
	}
	for i := 1; ; i++ {
		path = c.pathIn(dir, i)
		if err = lookPath(path); !errors.Is(err, ErrInUse) || i == sameNameMax {
			return path, err
		}
	}
}

// sameNameMax services of one name can be in one directory: a name is mostly an
// address, so two are there only while one follows the other.
const sameNameMax = 9

func sameName(i int) string {
	if i == 1 {
		return ""
	}
	return fmt.Sprintf("-%d", i)
}

// listenAt listens at path and takes the place of a socket that nobody has.
func listenAt(path string) (*Socket, error) {
	ln, err := bind(path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if err = clearPath(path); err == nil {
			ln, err = bind(path)
		}
	} else if why := lookPlace(path); err != nil && why != nil {
		err = why // it says more than the call did
	}
	if err != nil {
		return nil, fmt.Errorf("publish: socket %s: %w", path, err)
	}
	ln.SetUnlinkOnClose(false) // Close looks whose it is
	s := &Socket{path: path, ln: ln}
	if err = os.Chmod(path, 0o600); err == nil {
		s.file, err = os.Lstat(path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("publish: socket %s: %w", path, err), ln.Close())
	}
	return s, nil
}

func bind(path string) (*net.UnixListener, error) {
	return net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
}

// clearPath removes a socket at which nobody listens, and nothing else.
func clearPath(path string) error {
	if err := lookPath(path); err != nil {
		return err
	}
	return os.Remove(path)
}

// lookPath says why a path cannot be taken; nil where nobody listens, or nothing is.
func lookPath(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("a file that is no socket is there")
	}
	if alive, pid := listens(path); alive {
		return fmt.Errorf("%w (process %d)", ErrInUse, pid)
	}
	return nil
}

// lookPlace says why there can be no socket of that name, whatever is there.
func lookPlace(path string) error {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	switch longest := len(syscall.RawSockaddrUnix{}.Path) - 1; {
	case len(path) > longest:
		return fmt.Errorf("a socket's path has %d bytes at most", longest)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("its directory %s does not exist", dir)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is no directory", dir)
	}
	return err
}

// listens reports whether somebody listens at path, and who began to. What
// cannot be told counts as yes: nothing of another's is removed.
func listens(path string) (alive bool, pid int) {
	conn, err := net.DialTimeout("unix", path, dialTimeout)
	if err != nil {
		return !errors.Is(err, syscall.ECONNREFUSED), 0
	}
	defer conn.Close()
	_, pid, _ = peerOf(conn) // 0 where it is not known
	return true, pid
}

// sweep removes what dead services left in a home, which is locked: nobody else
// would, where a directory never serves again.
func sweep(home string) {
	left, _ := filepath.Glob(filepath.Join(home, "*", "*")) // the pattern is a good one
	for _, path := range left[:min(len(left), sweepMax)] {
		if clearPath(path) == nil { // else it is in use, or no socket
			_ = os.Remove(filepath.Dir(path)) // it has others
		}
	}
}

// sweepMax bounds what one start looks at.
const sweepMax = 1000

// Path is where the socket is, for Env.
func (s *Socket) Path() string { return s.path }

// Listener is the socket itself, to be served by a Door or handed to workers.
func (s *Socket) Listener() *net.UnixListener { return s.ln }

// Leave gives the path up to a successor, when the service begins to stop: who
// has the path from Env still finds the socket, beside it.
func (s *Socket) Leave() error {
	if !s.isOurs() {
		return nil
	}
	if err := os.Rename(s.path, s.path+leftSuffix); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	s.path += leftSuffix
	return nil
}

// Close ends the socket in this process, and removes it.
func (s *Socket) Close() error {
	err := s.ln.Close()
	if errors.Is(err, net.ErrClosed) { // its door was shut down
		err = nil
	}
	if s.isOurs() {
		err = errors.Join(err, os.Remove(s.path))
	}
	if s.own {
		err = errors.Join(err, removePlace(filepath.Dir(s.path)))
	}
	if err != nil {
		return fmt.Errorf("publish: close: %w", err)
	}
	return nil
}

// removePlace removes the directory of Place unless another service has a socket
// there, or is about to.
func removePlace(dir string) error {
	home, err := makeHome(os.Geteuid())
	if err != nil {
		return err
	}
	defer home.Close()
	_ = os.Remove(dir) // it is not empty then
	return nil
}

// isOurs reports whether the file at the path is still this socket.
func (s *Socket) isOurs() bool {
	info, err := os.Lstat(s.path)
	return err == nil && os.SameFile(info, s.file)
}

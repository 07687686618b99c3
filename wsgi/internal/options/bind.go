// SPDX-License-Identifier: MIT

package options

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"m0serve.dev/http/config"
)

// errBind is the cure of an address that cannot be read.
var errBind = errors.New("write it as HOST:PORT, :PORT, unix:PATH, unix:@NAME or fd://N")

// parseBind reads one address of --bind, with the port to use when it has none.
// As in gunicorn, ":8000" is every address and "localhost" has the usual port.
func parseBind(v, port string) (Bind, error) {
	for _, prefix := range []string{"unix://", "unix:"} {
		if path, ok := strings.CutPrefix(v, prefix); ok {
			return unixBind(path)
		}
	}
	if n, ok := strings.CutPrefix(v, "fd://"); ok {
		return fdBind(n)
	}
	v = strings.TrimPrefix(v, "tcp://")
	if isPort(v) {
		return Bind{"tcp", "127.0.0.1:" + v}, nil
	}
	if _, err := netip.ParseAddr(v); err == nil || !strings.Contains(v, ":") {
		v = net.JoinHostPort(v, port)
	} else if strings.HasPrefix(v, "[") && strings.HasSuffix(v, "]") {
		v += ":" + port
	}
	host, number, err := net.SplitHostPort(v)
	switch {
	case err != nil:
		return Bind{}, errBind
	case config.IsScheme(host):
		return Bind{}, fmt.Errorf("%q begins another kind of address: %w", host, errBind)
	case !isPort(number) || !config.IsHost(host):
		return Bind{}, errBind
	}
	if host == "" {
		host = "0.0.0.0"
	}
	return Bind{"tcp", net.JoinHostPort(host, number)}, nil
}

// unixPathMax is what fits into a sockaddr_un of Linux, with its end.
const unixPathMax = 107

func unixBind(path string) (Bind, error) {
	if path == "" || path == "@" || strings.ContainsRune(path, 0) {
		return Bind{}, errors.New("name the socket, such as unix:/run/app.sock")
	}
	if path[0] != '@' {
		abs, err := absolute(path)
		if err != nil {
			return Bind{}, err
		}
		path = abs
	}
	if len(path) > unixPathMax {
		return Bind{}, fmt.Errorf("choose a shorter path; a socket's has at most %d bytes, "+
			"this one %d", unixPathMax, len(path))
	}
	return Bind{"unix", path}, nil
}

func fdBind(v string) (Bind, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n == 1 || n == 2 || n > 1<<20 {
		return Bind{}, errors.New("give the number of an inherited socket, such as 3")
	}
	return Bind{"fd", strconv.Itoa(n)}, nil
}

func isPort(v string) bool {
	n, err := strconv.ParseUint(v, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == v
}

func checkBind(_ *Options, v string) error {
	for item := range strings.SplitSeq(v, ",") {
		if strings.TrimSpace(item) == "" {
			return errBind // beside others it would be every address
		}
		if _, err := parseBind(strings.TrimSpace(item), "0"); err != nil {
			return err
		}
	}
	return nil
}

func checkHost(_ *Options, v string) error {
	var host string
	return config.Host(&host)(v)
}

func checkPort(_ *Options, v string) error {
	if !isPort(v) {
		return errors.New("set it to a whole number from 0 to 65535")
	}
	return nil
}

func checkUDS(_ *Options, v string) error {
	_, err := unixBind(v)
	return err
}

func checkFD(_ *Options, v string) error {
	_, err := fdBind(v)
	return err
}

// address takes host:port, :port or a port of the loopback address.
func address(at func(*Options) *string) setter {
	return func(o *Options, v string) error {
		b, err := parseBind(v, "")
		if err != nil || b.Network != "tcp" {
			return errors.New("set it to HOST:PORT, such as 127.0.0.1:9090")
		}
		*at(o) = b.Address
		return nil
	}
}

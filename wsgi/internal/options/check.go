// SPDX-License-Identifier: MIT

package options

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// anyPath takes a file or directory and makes it absolute.
func anyPath(at func(*Options) *string) setter {
	return func(o *Options, v string) error {
		abs, err := absolute(v)
		*at(o) = abs
		return err
	}
}

func absolute(v string) (string, error) {
	if strings.ContainsRune(v, 0) {
		return "", errors.New("leave the NUL byte out")
	}
	abs, err := filepath.Abs(v)
	if err != nil {
		return "", fmt.Errorf("start it in a directory that exists (%v)", err)
	}
	return abs, nil
}

// directory makes v absolute and insists that it is one.
func directory(v string) (string, error) {
	abs, err := absolute(v)
	if err != nil {
		return "", err
	}
	switch info, err := os.Stat(abs); {
	case err != nil:
		return "", fmt.Errorf("name a directory that exists (%v)", err)
	case !info.IsDir():
		return "", fmt.Errorf("name a directory; %s is a file", abs)
	}
	return abs, nil
}

// writable makes v absolute and insists that a file may be there.
func writable(v string) (string, error) {
	abs, err := absolute(v)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(filepath.Dir(abs)); err != nil || !info.IsDir() {
		return "", fmt.Errorf("make its directory first (mkdir -p %s), or name another file",
			filepath.Dir(abs))
	}
	if info, err := os.Stat(abs); err == nil && info.IsDir() {
		return "", errors.New("name a file in it; it is a directory")
	}
	return abs, nil
}

func setPidFile(o *Options, v string) (err error) {
	o.PidFile, err = writable(v)
	return err
}

func setChdir(o *Options, v string) (err error) {
	o.Chdir, err = directory(v)
	return err
}

// setPython keeps the name of a command and makes a path absolute.
func setPython(o *Options, v string) (err error) {
	o.Python = v
	if strings.ContainsRune(v, filepath.Separator) {
		o.Python, err = absolute(v)
	}
	return err
}

// pattern takes a glob of file names.
func pattern(v string) (string, error) {
	if _, err := path.Match(v, ""); err != nil {
		return "", errors.New("close the bracket of the pattern")
	}
	return v, nil
}

func setInterface(o *Options, v string) error {
	switch strings.ToLower(v) {
	case "auto", "wsgi", "asgi":
		o.Interface = strings.ToLower(v)
	case "asgi3":
		o.Interface = "asgi"
	case "asginl":
		o.Interface, o.Lifespan = "asgi", "off"
	case "asgi2":
		return errors.New("set it to asgi, and wrap the application in " +
			"asgiref.compatibility.guarantee_single_callable")
	case "rsgi":
		return errors.New("set it to asgi or wsgi; RSGI is spoken by granian alone")
	default:
		return errors.New("set it to auto, wsgi or asgi")
	}
	return nil
}

func setRootPath(o *Options, v string) error {
	if v != "" && v[0] != '/' || strings.ContainsAny(v, "?#\r\n\x00") ||
		strings.Contains(v, "//") {
		return errors.New("set it to a path such as /shop")
	}
	o.RootPath = strings.TrimSuffix(v, "/")
	return nil
}

func addStatic(o *Options, v string) error {
	route, dir, ok := strings.Cut(v, "=")
	if !ok || dir == "" || route == "" || route[0] != '/' || strings.ContainsAny(route, "?#\x00") {
		return errors.New("write it as ROUTE=DIR, such as /static=public")
	}
	abs, err := directory(dir)
	if err != nil {
		return err
	}
	if route != "/" {
		route = strings.TrimSuffix(route, "/")
	}
	for _, s := range o.Static {
		if s.Route == route {
			return fmt.Errorf("leave one of the two for %s out", route)
		}
	}
	o.Static = append(o.Static, Static{Route: route, Dir: abs})
	return nil
}

func setWorkers(o *Options, v string) error {
	if strings.EqualFold(v, "auto") {
		o.Workers = min(runtime.NumCPU(), workersMax)
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > workersMax {
		return fmt.Errorf("set it to a whole number from 1 to %d, or to auto", workersMax)
	}
	o.Workers = n
	return nil
}

// rssMin is less than any interpreter with an application takes.
const rssMin = 16 << 20

func setMaxRSS(o *Options, v string) error {
	n, ok := parseSize(v, 1<<20)
	if !ok || n != 0 && n < rssMin || n > sizeMax {
		return fmt.Errorf("set it to 0 or to a size from %s, such as 512M", formatSize(rssMin))
	}
	o.MaxRSS = n
	return nil
}

func setUmask(o *Options, v string) error {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(v), "0o"), 8, 16)
	if err != nil || n > 0o777 {
		return errors.New("set it to an octal number from 0 to 777, such as 022")
	}
	o.Umask = int(n)
	return nil
}

func setHeaderTimeout(o *Options, v string) error {
	d, ok := parseDuration(v)
	if !ok || d < time.Millisecond || d > time.Hour {
		return errors.New("set it to a time from 1ms to 3600 s, such as 10 or 2.5s; " +
			"without one, slow heads would hold their connections")
	}
	o.HeaderTimeout = d
	return nil
}

// peer takes an address or a network that may speak for others.
func peer(v string) (string, error) {
	if v == "*" {
		return v, nil
	}
	if _, err := netip.ParseAddr(v); err == nil {
		return v, nil
	}
	if p, err := netip.ParsePrefix(v); err == nil {
		return p.Masked().String(), nil
	}
	return "", fmt.Errorf("list addresses, networks such as 10.0.0.0/8, or *; %q is none", v)
}

// origin takes what a browser writes into the Origin field.
func origin(v string) (string, error) {
	if v == "*" {
		return v, nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil ||
		v != u.Scheme+"://"+u.Host {
		return "", fmt.Errorf("list origins such as https://example.com, or *; %q is none", v)
	}
	return strings.ToLower(v), nil
}

func setAccessLog(o *Options, v string) (err error) {
	if on, ok := parseBool(v); ok {
		o.AccessLog = ""
		if on {
			o.AccessLog = "-"
		}
		return nil
	}
	if v == "-" {
		o.AccessLog = v
		return nil
	}
	o.AccessLog, err = writable(v)
	return err
}

func setAccessLogFormat(o *Options, v string) error {
	switch lower := strings.ToLower(v); {
	case lower == "json" || lower == "common" || lower == "combined":
		o.AccessLogFormat = lower
	case strings.Contains(v, "%("):
		o.AccessLogFormat = v
	default:
		return errors.New("set it to json, common, combined or a line with atoms such as %(h)s")
	}
	return nil
}

func setLogLevel(o *Options, v string) error {
	switch strings.ToLower(v) {
	case "debug", "trace":
		o.LogLevel = "debug"
	case "info":
		o.LogLevel = "info"
	case "warn", "warning":
		o.LogLevel = "warn"
	case "error", "critical":
		o.LogLevel = "error"
	default:
		return errors.New("set it to debug, info, warn or error")
	}
	return nil
}

// setPGListen checks the form of a DSN; no part of it is repeated in the error.
func setPGListen(o *Options, v string) error {
	u, err := url.Parse(v)
	isURL := err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql")
	if !isURL && !isKeywords(v) {
		return errors.New("write it as postgres://user:password@host/database " +
			"or as host=… dbname=…")
	}
	o.PGListen = v
	return nil
}

// isKeywords tells whether v is made of keyword=value pairs, as libpq takes them.
func isKeywords(v string) bool {
	words, err := splitWords(v)
	if err != nil || len(words) == 0 || strings.Contains(v, "://") {
		return false
	}
	for _, w := range words {
		key, _, ok := strings.Cut(w, "=")
		if !ok || key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_") != "" {
			return false
		}
	}
	return true
}

// SPDX-License-Identifier: MIT

package doctor

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"m0serve.dev/http/config/diagnosis"
	"m0serve.dev/wsgi/internal/options"
)

// addresses tries every address.
func (r *Report) addresses(o *options.Options) {
	const section = "Addresses"
	for _, b := range o.Binds {
		label := b.String()
		text := "free (" + o.Source("bind").String() + ")"
		mark, cure := Good, ""
		switch b.Network {
		case "tcp":
			if problem, its := diagnosis.TryListen(b.Address, "--port"); problem != "" {
				mark, text, cure = Problem, problem, its
			}
			label = "http://" + b.Address
			r.URLs = append(r.URLs, label)
		case "unix":
			if problem, its := tryUnix(b.Address); problem != "" {
				mark, text, cure = Problem, problem, its
			}
			r.URLs = append(r.URLs, label)
		default:
			mark, text = Note, "inherited ("+o.Source("bind").String()+")"
		}
		r.Add(section, mark, label, text, cure)
	}
	if o.Metrics == "" {
		return
	}
	if problem, cure := diagnosis.TryListen(o.Metrics, "--metrics"); problem != "" {
		r.Add(section, Problem, "metrics", o.Metrics+" "+problem, cure)
	} else {
		r.Add(section, Good, "metrics", o.Metrics+" is free", "")
	}
}

// tryUnix looks at the path of a socket and does not touch it.
func tryUnix(path string) (problem, cure string) {
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = conn.Close() // it answered
		return "is served by another process", "stop it, or choose another path"
	}
	if strings.HasPrefix(path, "@") {
		return "", ""
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket == 0 {
		return "is a file and no socket", "choose another path, or remove it"
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return "is in a directory that does not exist", "make it: mkdir -p " + filepath.Dir(path)
	}
	return "", ""
}

// limits compares the file descriptors of a process with what is asked.
func (r *Report) limits(o *options.Options) {
	source := ""
	if s := o.Source("max-conns"); s.Kind != options.FromDefault {
		source = s.String()
	}
	r.Descriptors(o.MaxConns, source, "--max-conns")
}

// files reports on directories and on files that will be written.
func (r *Report) files(o *options.Options) {
	const section = "Files"
	for _, s := range o.Static {
		r.static(s)
	}
	for _, f := range []struct{ name, path string }{
		{"access-log", o.AccessLog}, {"pid", o.PidFile},
	} {
		if f.path == "" || f.path == "-" {
			continue
		}
		r.Add(section, Good, f.name, f.path, "") // options has refused what is none
	}
	if config := filepath.Join(o.Chdir, "gunicorn.conf.py"); isThere(config) {
		r.Add(section, Warning, "gunicorn", "gunicorn.conf.py is not read",
			"give its settings as flags or as M0_ variables")
	}
}

func (r *Report) static(s options.Static) {
	const section = "Files"
	list, err := os.ReadDir(s.Dir)
	switch label := "static " + s.Route; {
	case err != nil:
		r.Add(section, Problem, label, s.Dir+" cannot be read ("+unwrap(err)+")",
			"let the user that runs m0serve read it")
	case len(list) == 0:
		r.Add(section, Warning, label, s.Dir+" is empty",
			"fill it; for Django: python manage.py collectstatic")
	default:
		r.Add(section, Good, label, s.Dir+", "+strconv.Itoa(len(list))+" entries", "")
	}
}

func unwrap(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// guessApp looks for what people usually serve.
func guessApp(dir string) string {
	for _, pattern := range []string{"*/wsgi.py", "*/asgi.py", "wsgi.py", "asgi.py", "main.py",
		"app.py", "*/main.py", "*/app.py"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) == 0 {
			continue
		}
		name, err := filepath.Rel(filepath.Join(dir, "."), found[0])
		if err != nil {
			continue
		}
		module := strings.ReplaceAll(strings.TrimSuffix(name, ".py"), string(filepath.Separator), ".")
		return "name it: " + name + " looks like one, so m0serve " + module
	}
	return "name it, such as m0serve mysite.wsgi or m0serve main:app, in its own directory " +
		"or with --chdir"
}

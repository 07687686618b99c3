// SPDX-License-Identifier: MIT

package static

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strconv"
	"syscall"
	"time"

	"m0serve.dev/http/wire"
)

// A field of an answer.
type field struct{ name, value string }

// An answer is decided before a byte of it is sent.
type answer struct {
	status  int
	fields  [10]field
	nfields int
	text    string   // body when no file is sent
	file    *os.File // nil: text
	parts   spans    // of the file, in order of sending
	length  int64    // of the body
	kind    string   // content type of the file

	boundary string // of several parts
	size     int64  // of the file
}

func (a *answer) add(name, value string) {
	a.fields[a.nfields] = field{name, value}
	a.nfields++
}

// close closes the file, which was only read: nothing can go wrong.
func (a *answer) close() {
	if a.file != nil {
		_ = a.file.Close()
	}
}

// refusal is an answer without a file: a problem document (RFC 9457) that says
// no more than its status.
func refusal(status int) *answer {
	a := &answer{status: status}
	a.text = `{"title":"` + wire.StatusText(status) + `","status":` + strconv.Itoa(status) + "}\n"
	a.length = int64(len(a.text))
	a.add("Content-Type", "application/problem+json")
	a.add("X-Content-Type-Options", "nosniff")
	return a
}

// answer decides. false: the request is for somebody else.
func (f *Files) answer(r *request) (a *answer, handled bool) {
	head := r.method == http.MethodHead
	if !head && r.method != http.MethodGet {
		if f.cfg.Fallthrough {
			return nil, false
		}
		a = refusal(http.StatusMethodNotAllowed)
		a.add("Allow", "GET, HEAD")
		return a, true
	}
	now := f.now()
	root := f.dir.root(now)
	file, name, status := f.find(root, r)
	switch {
	case status == http.StatusMovedPermanently:
		return f.redirect(r), true
	case status == http.StatusNotFound && f.cfg.Fallthrough:
		return nil, false
	case status != 0:
		return refusal(status), true
	}
	a = &answer{kind: f.typeOf(name)}
	coding := ""
	if !f.cfg.Plain && r.acceptEncoding != nil {
		file, coding = preferSibling(root, file, name, r.acceptEncoding)
	}
	v := validatorsOf(file.size, file.modified, now, coding)
	if status := v.check(r); status != 0 {
		_ = file.Close()
		return f.unsent(status, &v), true
	}
	a.file, a.size = file.File, file.size
	a.parts.list[0], a.parts.n = span{0, file.size}, 1
	a.status, a.length = http.StatusOK, file.size
	if r.ranges != nil && !head && v.allowsRange(r.ifRange) {
		a.takeRanges(r.ranges)
	}
	f.describe(a, &v, coding)
	return a, true
}

// describe adds the fields of an answer with a file, or a part of one, or with
// nothing because no part of it was asked for.
func (f *Files) describe(a *answer, v *validators, coding string) {
	switch {
	case a.status == http.StatusRequestedRangeNotSatisfiable:
		return
	case a.boundary != "":
		a.add("Content-Type", "multipart/byteranges; boundary="+a.boundary)
	default:
		a.add("Content-Type", a.kind)
	}
	if coding != "" {
		a.add("Content-Encoding", coding)
	}
	a.add("X-Content-Type-Options", "nosniff")
	a.add("Accept-Ranges", "bytes")
	f.validate(a, v)
}

// validate adds what a 304 has to repeat (RFC 9110 section 15.4.5).
func (f *Files) validate(a *answer, v *validators) {
	a.add("ETag", v.tag)
	a.add("Last-Modified", v.modified)
	if !f.cfg.Plain {
		a.add("Vary", "Accept-Encoding")
	}
	if f.cfg.CacheControl != "" {
		a.add("Cache-Control", f.cfg.CacheControl)
	}
}

// unsent answers a precondition.
func (f *Files) unsent(status int, v *validators) *answer {
	if status != http.StatusNotModified {
		return refusal(status)
	}
	a := &answer{status: status}
	f.validate(a, v)
	return a
}

// redirect sends the client to the directory. The path opens with one slash
// only, empty segments being refused, so that it cannot name another host.
func (f *Files) redirect(r *request) *answer {
	to := string(r.path) + "/"
	if len(r.query) > 0 {
		to += "?" + string(r.query)
	}
	a := refusal(http.StatusMovedPermanently)
	a.add("Location", to)
	return a
}

// A found file is open and regular.
type found struct {
	*os.File
	size     int64
	modified time.Time
}

// find opens what the path names. A status other than 0 stands for the file.
func (f *Files) find(root *os.Root, r *request) (file found, name string, status int) {
	if len(r.path) < len(f.route) {
		return found{}, "", http.StatusMovedPermanently
	}
	name, dir, ok := fileName(r.path[len(f.route):])
	if !ok || dir && f.cfg.Index == "" {
		return found{}, "", http.StatusNotFound
	}
	if dir {
		name = path.Join(name, f.cfg.Index)
	}
	file, isDir, err := open(root, name)
	switch {
	case err != nil:
		return found{}, "", statusOf(err)
	case isDir && !dir && f.cfg.Index != "":
		return found{}, "", http.StatusMovedPermanently
	case file.File == nil:
		return found{}, "", http.StatusNotFound
	}
	return file, name, 0
}

// open opens a regular file. What is none is closed again. Without O_NONBLOCK
// the open of a pipe would wait for its writer.
func open(root *os.Root, name string) (file found, isDir bool, err error) {
	handle, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return found{}, false, err
	}
	info, err := handle.Stat()
	if err != nil || !info.Mode().IsRegular() {
		_ = handle.Close()
		return found{}, err == nil && info.IsDir(), err
	}
	return found{handle, info.Size(), info.ModTime()}, false, nil
}

// statusOf tells a file that is not there, or not for everybody, from a machine
// that is out of something.
func statusOf(err error) int {
	var code syscall.Errno
	if errors.As(err, &code) {
		switch code {
		case syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM:
			return http.StatusServiceUnavailable
		case syscall.EIO:
			return http.StatusInternalServerError
		}
	}
	if errors.Is(err, fs.ErrClosed) {
		return http.StatusServiceUnavailable
	}
	return http.StatusNotFound
}

// SPDX-License-Identifier: MIT

//go:build linux

package python

// #cgo CFLAGS: -O2 -Wall -std=c11 -D_GNU_SOURCE
// #cgo LDFLAGS: -ldl -lpthread
// #include <stdlib.h>
// #include <unistd.h>
// #include "memory.h"
// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Host is what the module _native ends in. An error is handed to Python as
// its text.
type Host interface {
	// Options is what the Python side needs to know, as JSON.
	Options() (string, error)
	// Source is the source of a module of ours.
	Source(module string) (string, error)
	// Start begins to serve an application of a kind, "wsgi" or "asgi".
	Start(kind string) error
	// Sit serves on the calling thread until the server ends.
	Sit(*Seat) error
	// Status is the exit status, once nothing is served any more. It may wait.
	Status() int
	// Log writes a line; level is a name of package log/slog.
	Log(level, text string)
}

// The exported functions below have no receiver: C calls them. This is the one
// place of their state.
var (
	host  Host
	seats [seatsMax]atomic.Pointer[Seat]
	next  atomic.Int32
	once  sync.Once
)

// seatsMax bounds the threads that sit.
const seatsMax = 1024

// SetHost says what the module ends in. It is called once, before any Python
// code has the module.
func SetHost(h Host) { once.Do(func() { host = h }) }

// CloseInChild says which descriptors a child made by os.fork must not keep.
func CloseInChild(fds []int) {
	list := make([]C.int, len(fds))
	for i, fd := range fds {
		list[i] = C.int(fd)
	}
	C.m0_close_in_child(unsafe.SliceData(list), C.int(len(list)))
}

// Forget removes a variable of the environment that is not for the application, and
// overwrites it: a child made by os.fork would show it in /proc as long as it runs.
func Forget(name string) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	C.m0_forget(text)
}

// LetGoOfStart gives back the pages of the engine's own file that were needed to start.
func LetGoOfStart() { C.m0_let_go_of_start() }

// Embed loads library (libpython), starts its interpreter under the name of
// program, and runs source with the name "native" bound to the module. It may be
// called once, and returns when source ends.
func Embed(library, program, source string) error {
	lib, prog, src := C.CString(library), C.CString(program), C.CString(source)
	if missing := C.m0_load(lib); missing != nil {
		return fmt.Errorf("python: %s: %s", library, C.GoString(missing))
	}
	if C.m0_embed(prog, src) != 0 {
		return errors.New("python: the interpreter could not be started")
	}
	return nil
}

// The runtime starts its first threads before any init, and this on one of them.
func init() { C.m0_fine_timers() }

// m0_native is how a host process gets the module; NULL with the reason on
// standard error when this is no Python that we know.
//
//export m0_native
func m0_native() *C.PyObject {
	C.m0_fine_timers() // of the thread that loaded us
	if missing := C.m0_load(nil); missing != nil {
		host.Log("ERROR", "this Python has no "+C.GoString(missing))
		return nil
	}
	return C.m0_module()
}

//export m0GoOptions
func m0GoOptions() *C.char {
	text, err := host.Options()
	if err != nil {
		host.Log("ERROR", err.Error())
		return nil
	}
	return C.CString(text)
}

//export m0GoSource
func m0GoSource(module *C.char) *C.char {
	text, err := host.Source(C.GoString(module))
	if err != nil {
		return nil
	}
	return C.CString(text)
}

//export m0GoStart
func m0GoStart(kind *C.char) *C.char { return textOf(host.Start(C.GoString(kind))) }

//export m0GoSit
func m0GoSit() *C.char {
	n := next.Add(1) - 1
	if n >= seatsMax {
		return textOf(fmt.Errorf("more than %d threads", seatsMax))
	}
	s := &Seat{c: C.m0_seat_open(C.int(n)), tid: int(C.gettid())}
	seats[n].Store(s)
	return textOf(host.Sit(s))
}

//export m0GoStatus
func m0GoStatus() C.int { return C.int(host.Status()) }

//export m0GoLog
func m0GoLog(level, text *C.char) { host.Log(C.GoString(level), C.GoString(text)) }

// textOf is err for Python, which frees it.
func textOf(err error) *C.char {
	if err == nil {
		return nil
	}
	return C.CString(err.Error())
}

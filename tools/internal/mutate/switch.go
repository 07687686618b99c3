// SPDX-License-Identifier: MIT

package mutate

import "fmt"

// Variables that a build with switches reads: which of them is thrown, and a file that
// gets the number of each that is passed.
const (
	Variable     = "M0_MUTANT"
	SeenVariable = "M0_MUTANT_SEEN"
)

// SwitchFile is the name of the file that Switches is for.
const SwitchFile = "m0mutant.go"

// Switches is the file that a package with so many switches needs beside its own.
func Switches(name string, count int) []byte {
	return fmt.Appendf(nil, switches, name, Variable, SeenVariable, count)
}

const switches = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

type m0number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

var m0id = func() int {
	if id, err := strconv.Atoi(os.Getenv(%q)); err == nil {
		return id
	}
	return -1
}()

var m0file = os.Getenv(%q)

var m0passed [%d]atomic.Bool

func m0on(id int) bool { return m0id == id || m0file != "" && m0pass(id) }

func m0pass(id int) bool {
	if m0passed[id].Load() || m0passed[id].Swap(true) {
		return false
	}
	f, err := os.OpenFile(m0file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		f.WriteString(strconv.Itoa(id) + "\n")
		f.Close()
	}
	return false
}

func m0add[T m0number](id int, a, b T) T {
	if m0on(id) {
		return a - b
	}
	return a + b
}

func m0sub[T m0number](id int, a, b T) T {
	if m0on(id) {
		return a + b
	}
	return a - b
}

func m0mul[T m0number](id int, a, b T) T {
	if m0on(id) {
		return a / b
	}
	return a * b
}

func m0quo[T m0number](id int, a, b T) T {
	if m0on(id) {
		return a * b
	}
	return a / b
}

func m0rem[T interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}](id int, a, b T) T {
	if m0on(id) {
		return a * b
	}
	return a %% b
}

func m0neg[T m0number](id int, a T) T {
	if m0on(id) {
		return a
	}
	return -a
}

func m0inc[T m0number](id int, a *T) {
	if m0on(id) {
		*a--
	} else {
		*a++
	}
}

func m0dec[T m0number](id int, a *T) {
	if m0on(id) {
		*a++
	} else {
		*a--
	}
}
`

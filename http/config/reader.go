// SPDX-License-Identifier: MIT

package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	// WorkersMax is the largest M0_WORKERS: the shared page has a line for each.
	WorkersMax = 64

	threadsMax  = 64
	blockingMax = 100_000
	drainMax    = time.Hour
)

// An Error is one setting that cannot be honoured. Its text names the
// variable, the value and the cure.
type Error struct {
	Var   string // name of the variable
	Value string // as found
	Cure  string // what to set instead, a clause
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("config: %s=%q: %s", e.Var, e.Value, e.Cure)
}

// reader takes values one by one and collects what is wrong with them.
type reader struct {
	lookup func(string) (string, bool)
	wrong  []error
}

// problems joins what was found wrong, nil when nothing was.
func (r *reader) problems() error { return errors.Join(r.wrong...) }

func (r *reader) refuse(name, value, cure string) {
	r.wrong = append(r.wrong, &Error{Var: name, Value: value, Cure: cure})
}

// text takes any value; an empty one counts as unset, as docker and systemd
// files write an unset variable.
func (r *reader) text(name, fallback string) string {
	if v, ok := r.lookup(name); ok && v != "" {
		return v
	}
	return fallback
}

func (r *reader) number(name string, fallback, least, most int64) int64 {
	v := r.text(name, "")
	if v == "" {
		return fallback
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		r.refuse(name, v, fmt.Sprintf("set it to a whole number from %d to %d", least, most))
		return fallback
	}
	return n
}

// bytes takes a number of bytes, with K, M or G (powers of 1024) behind it.
func (r *reader) bytes(name string, fallback, least, most int64) int64 {
	v := r.text(name, "")
	if v == "" {
		return fallback
	}
	digits, shift := v, 0
	if i := strings.IndexByte("KMG", upper(v[len(v)-1])); i >= 0 {
		digits, shift = v[:len(v)-1], 10*(i+1)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64>>shift || n<<shift < least || n<<shift > most {
		r.refuse(name, v, fmt.Sprintf(
			"set it to a number of bytes from %d to %d, such as 65536, 64K or 10M", least, most))
		return fallback
	}
	return n << shift
}

func upper(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

func (r *reader) flag(name string, fallback bool) bool {
	switch v := r.text(name, ""); v {
	case "":
		return fallback
	case "1", "true", "yes", "on":
		return true
	case "0", "false", "no", "off":
		return false
	default:
		r.refuse(name, v, "set it to 1 or 0")
		return fallback
	}
}

// seconds takes a decimal number of seconds, as in 5 or 0.5.
func (r *reader) seconds(name string, fallback, most time.Duration) time.Duration {
	v := r.text(name, "")
	if v == "" {
		return fallback
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= 0 && f <= most.Seconds()) {
		r.refuse(name, v, fmt.Sprintf("set it to seconds from 0 to %g, such as 5 or 0.5",
			most.Seconds()))
		return fallback
	}
	return time.Duration(f * float64(time.Second))
}

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

// The functions of this file make the Set of a Setting: it checks a value and
// stores it, or returns the cure and stores nothing.

// Text takes any value.
func Text(to *string) func(string) error {
	return func(v string) error {
		*to = v
		return nil
	}
}

// Number takes a whole number from least to most.
func Number[T int | int64](to *T, least, most T) func(string) error {
	return func(v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < int64(least) || n > int64(most) {
			return fmt.Errorf("set it to a whole number from %d to %d", least, most)
		}
		*to = T(n)
		return nil
	}
}

// Bytes takes a number of bytes, with K, M or G (powers of 1024) behind it.
func Bytes[T int | int64](to *T, least, most T) func(string) error {
	return func(v string) error {
		digits, shift := v, 0
		if i := strings.IndexAny(v, "KMGkmg"); i >= 0 && i == len(v)-1 {
			digits, shift = v[:i], 10*(1+strings.IndexByte("KMG", strings.ToUpper(v)[i]))
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > math.MaxInt64>>shift || n<<shift < int64(least) ||
			n<<shift > int64(most) {
			return fmt.Errorf("set it to a number of bytes from %d to %d, such as 65536, 64K or 10M",
				least, most)
		}
		*to = T(n << shift)
		return nil
	}
}

// Switch takes what people write for yes and no.
func Switch(to *bool) func(string) error {
	return func(v string) error {
		switch v {
		case "1", "true", "yes", "on":
			*to = true
		case "0", "false", "no", "off":
			*to = false
		default:
			return errors.New("set it to 1 or 0")
		}
		return nil
	}
}

// Seconds takes a decimal number of seconds up to most, as in 5 or 0.5.
func Seconds(to *time.Duration, most time.Duration) func(string) error {
	return func(v string) error {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || !(f >= 0 && f <= most.Seconds()) {
			return fmt.Errorf("set it to seconds from 0 to %g, such as 5 or 0.5", most.Seconds())
		}
		*to = time.Duration(f * float64(time.Second))
		return nil
	}
}

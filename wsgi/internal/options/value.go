// SPDX-License-Identifier: MIT

package options

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// setter checks one value and stores it. Its error is the cure, a clause.
type setter func(o *Options, value string) error

// text takes anything.
func text(at func(*Options) *string) setter {
	return func(o *Options, v string) error {
		*at(o) = v
		return nil
	}
}

// toggle takes what people write for yes and no.
func toggle(at func(*Options) *bool) setter {
	return func(o *Options, v string) error {
		on, ok := parseBool(v)
		if !ok {
			return errors.New("set it to 1 or 0")
		}
		*at(o) = on
		return nil
	}
}

func parseBool(v string) (on, ok bool) {
	switch strings.ToLower(v) {
	case "1", "true", "yes", "on", "y", "t":
		return true, true
	case "0", "false", "no", "off", "n", "f":
		return false, true
	}
	return false, false
}

// number takes a whole number from least to most.
func number(at func(*Options) *int, least, most int) setter {
	return func(o *Options, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < least || n > most {
			return fmt.Errorf("set it to a whole number from %d to %d", least, most)
		}
		*at(o) = n
		return nil
	}
}

// span takes a time up to most.
func span(at func(*Options) *time.Duration, most time.Duration) setter {
	return func(o *Options, v string) error {
		d, ok := parseDuration(v)
		if !ok || d > most {
			return fmt.Errorf("set it to a time from 0 to %d s, such as 30, 2.5s or 1m30s",
				most/time.Second)
		}
		*at(o) = d
		return nil
	}
}

// atOnce is what a graceful timeout of 0 comes to: what is idle ends in it, and what
// is at work does not.
const atOnce = 50 * time.Millisecond

// graceful is span for --graceful-timeout, which is never without a bound.
func graceful(o *Options, v string) error {
	err := span(func(o *Options) *time.Duration { return &o.GracefulTimeout }, time.Hour)(o, v)
	if err == nil {
		o.GracefulTimeout = max(o.GracefulTimeout, atOnce)
	}
	return err
}

// parseDuration reads seconds ("30", "0.5") or a Go duration ("1m30s").
func parseDuration(v string) (time.Duration, bool) {
	if d, err := time.ParseDuration(v); err == nil {
		return d, d >= 0 && !strings.HasPrefix(v, "-")
	}
	if strings.Trim(v, "0123456789.") != "" {
		return 0, false
	}
	s, err := strconv.ParseFloat(v, 64)
	if err != nil || s > float64(math.MaxInt64/time.Second) {
		return 0, false
	}
	return time.Duration(s * float64(time.Second)), true
}

// size takes bytes from least to most; unit is what a bare number counts.
func size(at func(*Options) *int64, unit, least, most int64) setter {
	return func(o *Options, v string) error {
		n, ok := parseSize(v, unit)
		if !ok || n < least || n > most {
			return fmt.Errorf("set it to a size from %s to %s, such as 64k or 16M",
				formatSize(least), formatSize(most))
		}
		*at(o) = n
		return nil
	}
}

// smallSize is size for limits that are held as an int.
func smallSize(at func(*Options) *int, least, most int64) setter {
	return func(o *Options, v string) error {
		var n int64
		if err := size(func(*Options) *int64 { return &n }, 1, least, most)(o, v); err != nil {
			return err
		}
		*at(o) = int(n)
		return nil
	}
}

// sizeUnits are powers of 1024 in this order.
const sizeUnits = "KMGT"

// parseSize reads a number with k, M, G or T behind it ("64k", "64KB", "64KiB").
func parseSize(v string, unit int64) (int64, bool) {
	s := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(v), "B"), "I")
	if s == "" || len(s)+2 < len(v) {
		return 0, false
	}
	if i := strings.IndexByte(sizeUnits, s[len(s)-1]); i >= 0 {
		s, unit = s[:len(s)-1], 1<<(10*(i+1))
	} else if len(s) != len(v) {
		return 0, false
	}
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

func formatSize(n int64) string {
	for i := len(sizeUnits) - 1; i >= 0; i-- {
		if unit := int64(1) << (10 * (i + 1)); n >= unit && n%unit == 0 {
			return strconv.FormatInt(n/unit, 10) + sizeUnits[i:i+1]
		}
	}
	return strconv.FormatInt(n, 10)
}

// oneOf takes one of the words.
func oneOf(at func(*Options) *string, words ...string) setter {
	return func(o *Options, v string) error {
		for _, w := range words {
			if strings.EqualFold(v, w) {
				*at(o) = w
				return nil
			}
		}
		last := len(words) - 1
		return fmt.Errorf("set it to %s or %s", strings.Join(words[:last], ", "), words[last])
	}
}

// each takes a list with commas and appends what check makes of its items.
func each(at func(*Options) *[]string, check func(string) (string, error)) setter {
	return func(o *Options, v string) error {
		for item := range strings.SplitSeq(v, ",") {
			if item = strings.TrimSpace(item); item == "" {
				continue
			}
			item, err := check(item)
			if err != nil {
				return err
			}
			*at(o) = append(*at(o), item)
		}
		return nil
	}
}

// splitWords cuts a line into words as a shell does, without expansions.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote byte
	open := false // a word has begun, though it may be empty
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		case quote == 0 && (c == '\'' || c == '"'):
			quote, open = c, true
		case c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			open = true
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if quote != 0 {
		return nil, errors.New("close the quote " + string(quote))
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}

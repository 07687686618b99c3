// SPDX-License-Identifier: MIT

package options

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// envFileMax bounds an environment file.
const envFileMax = 1 << 20

// readEnvFile reads the variables of the file.
func readEnvFile(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("name a file that can be read (%v)", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, envFileMax+1))
	if err != nil {
		return nil, fmt.Errorf("name a file that can be read (%v)", err)
	}
	if len(text) > envFileMax {
		return nil, fmt.Errorf("name a file of at most %s", formatSize(envFileMax))
	}
	vars, err := ParseEnv(string(text))
	if err != nil {
		return nil, err
	}
	return vars, nil
}

// ParseEnv reads the text of an environment file. A line is empty, a comment
// behind "#", or NAME=VALUE, with or without "export" before it. A plain value
// ends at the end of the line or at " #". 'Single quotes' keep everything,
// "double quotes" know \n \r \t \" \\ \$, and both go on over lines. Nothing is
// expanded. A name that comes twice has its last value.
func ParseEnv(text string) (map[string]string, error) {
	r := envReader{rest: strings.TrimPrefix(text, "\ufeff"), line: 1}
	vars := map[string]string{}
	for {
		name, value, err := r.next()
		switch {
		case err != nil:
			return nil, err
		case name == "":
			return vars, nil
		}
		vars[name] = value
	}
}

// envReader takes one variable after another from the text.
type envReader struct {
	rest string
	line int // of the first byte of rest
}

// errorf makes a cure of the present line. It repeats no text of the file,
// which may be a secret.
func (r *envReader) errorf(format string, args ...any) error {
	return fmt.Errorf("in line %d, "+format, append([]any{r.line}, args...)...)
}

// take removes the first n bytes and counts their lines.
func (r *envReader) take(n int) string {
	s := r.rest[:n]
	r.rest = r.rest[n:]
	r.line += strings.Count(s, "\n")
	return s
}

// next returns the next variable; an empty name is the end.
func (r *envReader) next() (name, value string, err error) {
	for {
		r.take(len(r.rest) - len(strings.TrimLeft(r.rest, " \t\r\n")))
		if !strings.HasPrefix(r.rest, "#") {
			break
		}
		r.take(lineLen(r.rest))
	}
	if r.rest == "" {
		return "", "", nil
	}
	head := r.rest[:lineLen(r.rest)]
	name, after, ok := strings.Cut(head, "=")
	name = strings.TrimRight(name, " \t")
	if more := strings.TrimPrefix(name, "export"); strings.TrimLeft(more, " \t") != more {
		name = strings.TrimLeft(more, " \t")
	}
	switch {
	case !ok:
		return "", "", r.errorf("write it as NAME=VALUE")
	case !isVariable(name):
		return "", "", r.errorf("begin it with a name of letters, digits and _")
	}
	r.take(len(head) - len(strings.TrimLeft(after, " \t")))
	value, err = r.value()
	if err == nil && strings.ContainsRune(value, 0) {
		err = r.errorf("leave the NUL byte of %s out", name)
	}
	return name, value, err
}

func (r *envReader) value() (string, error) {
	if r.rest == "" {
		return "", nil
	}
	quote := r.rest[0]
	if quote != '"' && quote != '\'' {
		return plainValue(r.take(lineLen(r.rest))), nil
	}
	value, n := quotedValue(r.rest)
	if n == 0 {
		return "", r.errorf("close the quote %c", quote)
	}
	r.take(n)
	behind := r.rest[:lineLen(r.rest)]
	if s := strings.TrimLeft(behind, " \t\r"); s != "" && s[0] != '#' {
		return "", r.errorf("leave out what stands behind the closing quote")
	}
	r.take(len(behind))
	return value, nil
}

// plainValue is a value without quotes: up to a comment, without outer blanks.
func plainValue(s string) string {
	if strings.HasPrefix(s, "#") {
		return ""
	}
	for _, mark := range []string{" #", "\t#"} {
		s, _, _ = strings.Cut(s, mark)
	}
	return strings.Trim(s, " \t\r")
}

// quotedValue returns the value between the quotes and their length in s, 0
// when they are not closed.
func quotedValue(s string) (value string, n int) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == s[0]:
			return b.String(), i + 1
		case c == '\\' && s[0] == '"' && i+1 < len(s):
			i++
			b.WriteString(unescape(s[i]))
		case c == '\r' && i+1 < len(s) && s[i+1] == '\n': // a line end of Windows
		default:
			b.WriteByte(c)
		}
	}
	return "", 0
}

// unescape is what stands for \c between double quotes.
func unescape(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case '"', '\\', '$', '\'', '`':
		return string(c)
	}
	return "\\" + string([]byte{c})
}

// lineLen is the length of the first line of s, without its end.
func lineLen(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

// isVariable tells whether s can name a variable.
func isVariable(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '.' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

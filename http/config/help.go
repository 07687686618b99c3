// SPDX-License-Identifier: MIT

package config

import (
	"strings"
	"unicode/utf8"
)

// Columns of the help: the variable and the description; nothing is wider than a
// terminal of 80.
const (
	helpEnv   = 24
	helpText  = 45
	helpWidth = 80
)

// Help describes the settings that have a flag and a group, each group under its
// heading; on a terminal with some colour.
func Help(settings []Setting, terminal bool) string {
	var b strings.Builder
	bold, faint, end := "", "", ""
	if terminal {
		bold, faint, end = "\x1b[1m", "\x1b[2m", "\x1b[0m"
	}
	group := ""
	for i := range settings {
		s := &settings[i]
		if s.Flag == "" || s.Group == "" {
			continue
		}
		if s.Group != group {
			group = s.Group
			b.WriteString("\n" + bold + group + end + "\n")
		}
		flag := pad("  "+s.helpFlag(), helpEnv)
		env := pad(s.Env, helpText-helpEnv)
		if utf8.RuneCountInString(flag) > helpEnv { // a line of its own
			b.WriteString(strings.TrimRight(flag, " ") + "\n")
			flag = pad("", helpEnv)
		}
		b.WriteString(flag + faint + env + end)
		if utf8.RuneCountInString(env) > helpText-helpEnv { // here, too
			b.WriteString("\n" + pad("", helpText))
		}
		b.WriteString(wrap(s.helpText(), helpText, helpWidth) + "\n")
	}
	return b.String()
}

// helpFlag is the flag as it is typed.
func (s *Setting) helpFlag() string {
	short := ""
	for _, alias := range s.Aliases {
		if len(alias) == 2 {
			short = alias + " "
		}
	}
	switch {
	case s.Value != "":
		return short + "--" + s.Flag + " " + s.Value
	case s.Default == "1": // what can be asked for is to turn it off
		return short + "--no-" + s.Flag
	}
	return short + "--" + s.Flag
}

func (s *Setting) helpText() string {
	if s.Value != "" && s.Default != "" && s.Default != "0" {
		return s.Help + " [" + s.Default + "]"
	}
	return s.Help
}

// pad makes s so many columns wide, with two blanks behind it at least.
func pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(2, columns-utf8.RuneCountInString(s)))
}

// wrap breaks text at blanks, so that it fits from column indent on.
func wrap(text string, indent, width int) string {
	var b strings.Builder
	column := indent
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

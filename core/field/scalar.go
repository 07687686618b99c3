// SPDX-License-Identifier: MIT

package field

// skipWord skips the literal or number at i.
func skipWord(doc []byte, i int) (int, Code) {
	if c := doc[i]; isDigit(c) || c == '-' {
		return skipNumber(doc, i)
	}
	switch doc[i] {
	case 't':
		return skipLiteral(doc, i, "true")
	case 'f':
		return skipLiteral(doc, i, "false")
	case 'n':
		return skipLiteral(doc, i, "null")
	}
	return i, BadValue
}

func skipLiteral(doc []byte, i int, word string) (int, Code) {
	if end := i + len(word); end <= len(doc) && string(doc[i:end]) == word {
		return end, 0
	}
	return i, BadLiteral
}

func skipNumber(doc []byte, i int) (int, Code) {
	if doc[i] == '-' {
		i++
	}
	whole := i
	if i = skipDigits(doc, i); i == whole {
		return i, BadNumber
	}
	if doc[whole] == '0' && i > whole+1 {
		return whole + 1, BadNumber // a leading zero
	}
	return skipFraction(doc, i)
}

// skipFraction skips the fraction and the exponent of a number, if they stand at i.
func skipFraction(doc []byte, i int) (int, Code) {
	if i < len(doc) && doc[i] == '.' {
		fraction := i + 1
		if i = skipDigits(doc, fraction); i == fraction {
			return i, BadNumber
		}
	}
	if i < len(doc) && doc[i]|0x20 == 'e' {
		if i++; i < len(doc) && (doc[i] == '+' || doc[i] == '-') {
			i++
		}
		exponent := i
		if i = skipDigits(doc, exponent); i == exponent {
			return i, BadNumber
		}
	}
	return i, 0
}

func skipDigits(doc []byte, i int) int {
	for i < len(doc) && isDigit(doc[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// skipEscape skips the escape whose backslash is at i.
func skipEscape(doc []byte, i int) (int, Code) {
	if i+1 == len(doc) {
		return i + 1, BadEnd
	}
	switch doc[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, 0
	case 'u':
		if i+6 > len(doc) {
			return len(doc), BadEnd
		}
		if hex4(doc[i+2:]) < 0 {
			return i + 2, BadString
		}
		return i + 6, 0
	}
	return i + 1, BadString
}

// hex4 reads four hexadecimal digits; negative when they are not.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case isDigit(c):
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

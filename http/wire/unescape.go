// SPDX-License-Identifier: MIT

package wire

// AppendUnescaped appends path with its percent-encoded bytes decoded (RFC 3986
// section 2.1). A percent sign that no two hexadecimal digits follow stays.
func AppendUnescaped(dst, path []byte) []byte {
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			hi, lo := unhex(path[i+1]), unhex(path[i+2])
			if hi >= 0 && lo >= 0 {
				dst = append(dst, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		dst = append(dst, path[i])
	}
	return dst
}

func unhex(b byte) int {
	switch {
	case '0' <= b && b <= '9':
		return int(b - '0')
	case 'a' <= b|0x20 && b|0x20 <= 'f':
		return int(b|0x20-'a') + 10
	}
	return -1
}

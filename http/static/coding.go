// SPDX-License-Identifier: MIT

package static

import (
	"os"
	"slices"
	"time"

	"m0serve.dev/http/negotiate"
)

// codings are the content codings a sibling may have, best first. Read only.
var codings = [...]string{"zstd", "br", "gzip"}

func extensionOf(coding string) string {
	switch coding {
	case "zstd":
		return ".zst"
	case "gzip":
		return ".gz"
	}
	return "." + coding
}

// staleAfter is how much older than its file a sibling may be. Tools copy the
// time of the file to it, not all of them to the nanosecond.
const staleAfter = 2 * time.Second

// preferSibling exchanges file for the best of its siblings that the client
// takes. One that is older than the file was made of another one.
func preferSibling(root *os.Root, file found, name string, accept []byte) (found, string) {
	lines, left := []string{string(accept)}, slices.Clone(codings[:])
	for {
		coding, _ := negotiate.Encoding(lines, left...)
		if coding == "" {
			return file, ""
		}
		sibling, _, err := open(root, name+extensionOf(coding))
		if err == nil && sibling.File != nil {
			if !sibling.modified.Add(staleAfter).Before(file.modified) {
				_ = file.Close()
				return sibling, coding
			}
			_ = sibling.Close()
		}
		left = slices.DeleteFunc(left, func(c string) bool { return c == coding })
	}
}

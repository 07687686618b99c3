// SPDX-License-Identifier: MIT

package sbom

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Allowed are the licences under which something may be compiled into what we ship:
// they ask for their text to be passed on, and for nothing else.
var Allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}

// signs are words that are in one licence and in no other. Texts are compared in small
// letters and with single spaces.
var signs = []struct{ id, words string }{
	{"AGPL-3.0", "gnu affero general public license version 3"},
	{"Apache-2.0", "apache license version 2.0, january 2004"},
	{"GPL-2.0", "gnu general public license version 2"},
	{"GPL-3.0", "gnu general public license version 3"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose"},
	{"LGPL-2.1", "gnu lesser general public license version 2.1"},
	{"LGPL-3.0", "gnu lesser general public license version 3"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"MPL-2.0", "mozilla public license version 2.0"},
}

// Words of the BSD licences; the third clause tells them apart.
const (
	bsd       = "redistributions in binary form must reproduce the above copyright"
	bsdClause = "endorse or promote products"
)

// Identify returns the SPDX identifiers of the licences in a text, sorted; several
// where a file has several. None: it is not known.
func Identify(text string) (ids []string) {
	text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
	for _, s := range signs {
		if strings.Contains(text, s.words) {
			ids = append(ids, s.id)
		}
	}
	switch {
	case !strings.Contains(text, bsd):
	case strings.Contains(text, bsdClause):
		ids = append(ids, "BSD-3-Clause")
	default:
		ids = append(ids, "BSD-2-Clause")
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Check returns why something under these licences may not be shipped, nil if it may.
func Check(what string, ids []string) error {
	if len(ids) == 0 {
		return fmt.Errorf("sbom: %s has a licence that is not known", what)
	}
	for _, id := range ids {
		if !slices.Contains(Allowed, id) {
			return fmt.Errorf("sbom: %s is under %s; allowed are %s", what, id,
				strings.Join(Allowed, ", "))
		}
	}
	return nil
}

// ReadLicence reads the licence at the top of a module, by the names that people give
// it.
func ReadLicence(dir string) (text string, err error) {
	for _, name := range []string{"LICENSE.txt", "LICENSE.md", "COPYING", "LICENSE"} {
		var b []byte
		if b, err = os.ReadFile(filepath.Join(dir, name)); err == nil {
			return string(b), nil
		}
	}
	return "", err
}

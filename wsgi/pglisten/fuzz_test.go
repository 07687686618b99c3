// SPDX-License-Identifier: MIT

package pglisten

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// FuzzParseDSN: whatever stands around a password, it is in no error, not in what a DSN
// prints as, and not in what is said about a server.
func FuzzParseDSN(f *testing.F) {
	clearVariables(f)
	for _, s := range [][2]string{
		{"postgres://shop:", "@db/orders"}, {"postgres://shop:", "/x@db/orders"},
		{"postgresql://shop:", "%zz@db:5433,db2/o?sslmode=disable"},
		{"postgres://shop@db/orders?password=", "&connect_timeout=1"},
		{"host=db dbname=orders password=", " user=shop"}, {"host=db password='", "' port=5433"},
		{"host=db password='", ""}, {"password=\\'", " host = db"}, {"postgres://:", "@/"},
		{"host=db port=x password=", ""}, {"", ""}, {"mysql://u:", "@db"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, before, behind string) {
		if namesFile(before + behind) {
			t.Skip("it names a file, which may be any")
		}
		dsn := before + secret + behind
		d, err := ParseDSN(dsn)
		if err != nil {
			for e := err; e != nil; e = errors.Unwrap(e) {
				if text := fmt.Sprintf("%v %#v", e, e); strings.Contains(text, secret) {
					t.Errorf("ParseDSN(%q): the password is in %s", dsn, text)
				}
			}
			return
		}
		if d.link.Password == "" || !strings.Contains(d.link.Password, secret) {
			return // it was somebody's name, or that of a host
		}
		heard := d.explain(errors.New("no " + d.link.Password + " here"))
		for _, text := range []string{d.String(), fmt.Sprintf("%+v %#v", d, d), heard} {
			if strings.Contains(text, secret) {
				t.Errorf("ParseDSN(%q): the password is in %s", dsn, text)
			}
		}
	})
}

// namesFile reports whether a text may name a file in a DSN.
func namesFile(dsn string) bool {
	for _, name := range []string{"ssl", "passfile", "service", "%"} {
		if strings.Contains(dsn, name) {
			return name != "%" || strings.Contains(dsn, "?")
		}
	}
	return false
}

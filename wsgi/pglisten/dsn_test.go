// SPDX-License-Identifier: MIT

package pglisten

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseDSN(t *testing.T) {
	clearVariables(t)
	for dsn, want := range map[string]string{
		"postgres://shop:hunter2@db.example:5433/orders":      "shop@db.example:5433/orders",
		"postgresql://shop@db.example/orders?sslmode=disable": "shop@db.example:5432/orders",
		"postgres://shop@db1,db2:5433/orders":                 "shop@db1:5432,db2:5433/orders",
		"postgres://shop:a%2Fb%40c@[::1]/":                    "shop@[::1]:5432/shop",
		"host=/run/pg dbname=orders user=shop":                "shop@/run/pg/.s.PGSQL.5432/orders",
		"host=db dbname='m o' user=u password='x y'":          "u@db:5432/m o",
		// What libpq alone understands does not keep a DSN from being shared.
		"host=db user=shop keepalives=1 gssencmode=disable": "shop@db:5432/shop",
	} {
		d, err := ParseDSN(dsn)
		if err != nil {
			t.Errorf("ParseDSN(%q): %v", dsn, err)
			continue
		}
		if d.String() != want {
			t.Errorf("ParseDSN(%q) = %v, want %s", dsn, d, want)
		}
		for name := range d.link.RuntimeParams {
			if name != "application_name" && name != "client_encoding" {
				t.Errorf("ParseDSN(%q) asks the server for %s", dsn, name)
			}
		}
	}
}

func TestParseDSNTakesWhatTheEnvironmentSays(t *testing.T) {
	clearVariables(t)
	pass := filepath.Join(t.TempDir(), "pass")
	if err := os.WriteFile(pass, []byte("db:5432:*:shop:"+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGPASSFILE", pass)
	t.Setenv("PGUSER", "shop")
	d, err := ParseDSN("host=db fallback_application_name=mine")
	if err != nil || d.link.Password != secret || d.link.RuntimeParams["application_name"] != "mine" {
		t.Errorf("ParseDSN = %v, %v; want the password of PGPASSFILE, and the name mine", d, err)
	}
}

// An error says what to write, and has no part of what may be the password.
func TestParseDSNRefuses(t *testing.T) {
	clearVariables(t)
	for dsn, want := range map[string]string{
		"":                                       "is empty",
		" ":                                      "is empty",
		"postgres://shop:hunter2/x@db/orders":    "write % as %25",
		"postgres://shop:hunter2%zz@db/orders":   "write % as %25",
		"postgres://shop:hunter2@db:port/orders": "write % as %25",
		"postgres://shop:hunter2:x@db:99999/orders":                "write % as %25",
		"postgres://shop:hunter2@db/\x00":                          "write % as %25",
		"mysql://shop:hunter2@db/orders":                           "postgres://user:password@host",
		"db.example hunter2":                                       "postgres://user:password@host",
		"host=db password='hunter2":                                "postgres://user:password@host",
		"host=db password=hunter2 port=x":                          "postgres://user:password@host",
		"host=db password=hunter2 sslmode=on":                      "sslmode is disable,",
		"host=db password=hunter2 service=none":                    "PGSERVICEFILE",
		"host=db password=hunter2 connect_timeout=1x":              "number of seconds",
		"host=db password=hunter2 hostaddr=192.0.2.1":              "hostaddr, which is not supported",
		"host=db password=hunter2 sslcrl=/x":                       "sslcrl, which is not supported",
		"host=db password=hunter2 target_session_attrs=x":          "primary, read-write or any",
		"host=db password=hunter2 sslmode=require sslrootcert=/no": "no such file",
	} {
		d, err := ParseDSN(dsn)
		if err == nil {
			t.Errorf("ParseDSN(%q) = %v, want an error", dsn, d)
			continue
		}
		text := err.Error()
		if !strings.Contains(text, want) || !strings.HasPrefix(text, "pglisten: ") {
			t.Errorf("ParseDSN(%q): %q, want %q in it", dsn, text, want)
		}
		for _, part := range []string{secret, "hunter"} {
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(fmt.Sprintf("%v %+v %#v", e, e, e), part) {
					t.Errorf("ParseDSN(%q): the password is in %#v", dsn, e)
				}
			}
		}
	}
}

func TestDSNPrintsWithoutPassword(t *testing.T) {
	clearVariables(t)
	d, err := ParseDSN("postgres://shop:" + secret + "@db/orders")
	if err != nil {
		t.Fatal(err)
	}
	var line strings.Builder
	slog.New(slog.NewJSONHandler(&line, nil)).Info("x", "dsn", d, "in", []any{d})
	cfg := Config{DSN: d}
	for _, text := range []string{
		fmt.Sprint(d), fmt.Sprintf("%+v %#v %q", d, d, d), line.String(),
		fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg), fmt.Sprintf("%+v", []*DSN{d}),
	} {
		if strings.Contains(text, secret) {
			t.Errorf("the password is in %q", text)
		}
	}
	if n := strings.Count(line.String(), "shop@db:5432/orders"); n != 1 {
		t.Errorf("logged %s, want where the database is", line.String())
	}
	if got := fmt.Sprint((*DSN)(nil), &DSN{}); got != "no DSN no DSN" {
		t.Errorf("DSNs that are none print as %q", got)
	}
}

func TestExplain(t *testing.T) {
	clearVariables(t)
	d, err := ParseDSN("postgres://shop:" + secret + "@db/orders")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ err, want string }{
		{"a\nb\n\ta\n", "a; b"},
		{"FATAL: no " + secret + " here", "FATAL: no *** here"},
	} {
		if got := d.explain(errors.New(tc.err)); got != tc.want {
			t.Errorf("explain(%q) = %q, want %q", tc.err, got, tc.want)
		}
	}
}

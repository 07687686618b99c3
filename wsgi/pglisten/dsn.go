// SPDX-License-Identifier: MIT

package pglisten

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// form is what an operator who wrote something else is told.
const form = "write it as postgres://user:password@host:5432/database, or as " +
	"host=… dbname=… user=…; the password may be in PGPASSWORD or ~/.pgpass instead"

// applicationName is what pg_stat_activity shows unless the DSN says otherwise.
const applicationName = "m0serve --pg-listen"

// messageBytesMax bounds what a server may send in one piece. A payload has less
// than 8,000 bytes; what is not PostgreSQL at all announces far more.
const messageBytesMax = 1 << 20

// A DSN says where PostgreSQL is and who asks. It prints without the password.
type DSN struct {
	link *pgconn.Config // never changed; each connection has a copy
}

// ParseDSN reads a connection string in either of libpq's forms, and what the PG…
// variables, ~/.pgpass and the service file say about the rest. Nothing is
// connected to. The error says what to write instead and repeats no part of s.
func ParseDSN(s string) (*DSN, error) {
	if strings.TrimSpace(s) == "" {
		return nil, errors.New("pglisten: the DSN is empty: " + form)
	}
	link, err := pgconn.ParseConfig(s)
	if err != nil {
		return nil, errors.New("pglisten: " + explainForm(s, err)) // the cause quotes s
	}
	if err := settle(link.RuntimeParams); err != nil {
		return nil, err
	}
	if link.ValidateConnect == nil { // of several hosts the one that can LISTEN
		link.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	link.MaxProtocolMessageBodyLen = messageBytesMax
	return &DSN{link}, nil
}

// settle takes out of the parameters for the server what libpq keeps to itself,
// and adds ours.
func settle(params map[string]string) error {
	for _, name := range []string{
		"hostaddr", "requirepeer", "requiressl", "sslcrl", "sslcrldir",
		"ssl_min_protocol_version", "ssl_max_protocol_version", "replication",
	} {
		if _, given := params[name]; given {
			return fmt.Errorf("pglisten: the DSN has %s, which is not supported here: "+
				"leave it out", name)
		}
	}
	for _, name := range []string{ // without effect here, so that a DSN may be shared
		"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count",
		"tcp_user_timeout", "gssencmode", "gsslib", "gssdelegation", "sslcompression",
		"load_balance_hosts",
	} {
		delete(params, name)
	}
	fallback := params["fallback_application_name"]
	delete(params, "fallback_application_name")
	params["application_name"] = cmp.Or(params["application_name"], fallback, applicationName)
	params["client_encoding"] = "UTF8" // that of a frame, whatever the database has
	return nil
}

// explainForm says why s is no DSN without a byte of s that may be a password: of
// what the parser says only the kind is used, and the name of a file.
func explainForm(s string, err error) string {
	var file *fs.PathError
	text := err.Error()
	has := func(part string) bool { return strings.Contains(text, part) }
	isURL := strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
	switch {
	case errors.As(err, &file) && !strings.Contains(file.Path, "@"):
		return fmt.Sprintf("the DSN names a file that cannot be read: %v", file)
	case has("failed to configure TLS"):
		return "sslmode, sslcert, sslkey or sslrootcert of the DSN do not fit: sslmode is " +
			"disable, allow, prefer, require, verify-ca or verify-full, and a certificate needs its key"
	case has("failed to read service"):
		return "the service of the DSN is not in the service file (PGSERVICEFILE)"
	case has("connect_timeout"):
		return "connect_timeout of the DSN is not a number of seconds"
	case has("target_session_attrs"):
		return "target_session_attrs of the DSN has to be primary, read-write or any"
	case isURL:
		return "the DSN is no URL that can be read; in a user or password write % as %25, " +
			"/ as %2F, : as %3A, @ as %40, # as %23, ? as %3F; " + form
	}
	return "the DSN cannot be read: " + form
}

// String is user@host:port/database; several hosts have commas between them.
func (d *DSN) String() string {
	if d == nil || d.link == nil {
		return "no DSN"
	}
	hosts := []string{place(d.link.Host, d.link.Port)}
	for _, f := range d.link.Fallbacks { // with TLS and without, a host is there twice
		if next := place(f.Host, f.Port); next != hosts[len(hosts)-1] {
			hosts = append(hosts, next)
		}
	}
	database := cmp.Or(d.link.Database, d.link.User)
	return fmt.Sprintf("%s@%s/%s", d.link.User, strings.Join(hosts, ","), database)
}

func place(host string, port uint16) string {
	_, address := pgconn.NetworkAddress(host, port)
	return address
}

// LogValue is String, for handlers that would log no field of it.
func (d *DSN) LogValue() slog.Value { return slog.StringValue(d.String()) }

// explain is err in one line, without the password and without what is said twice.
func (d *DSN) explain(err error) string {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		err = connect.Unwrap() // what stands before it names user and database
	}
	var lines []string
	seen := map[string]bool{}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line = strings.TrimSpace(line); line != "" && !seen[line] {
			seen[line] = true
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "; ")
	if d.link.Password != "" {
		text = strings.ReplaceAll(text, d.link.Password, "***")
	}
	return text
}

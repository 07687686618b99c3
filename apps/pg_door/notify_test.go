// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/postgres"
	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/wsgi/pglisten"
)

// TestNotifications shows one PostgreSQL from several sides. Notifications stay in
// their database, so each part has one of its own.
func TestNotifications(t *testing.T) {
	skipShort(t)
	c := postgres.New(t)
	for name, part := range map[string]func(*testing.T, *postgres.Cluster, string){
		"committed": notifyCommitted, "sql": notifySQL, "trigger": notifyTrigger,
		"reserved": notifyReserved, "size": notifyLimit, "latin1": notifyLatin1,
		"password": notifyPassword, "burst": notifyBurst,
	} {
		t.Run(name, func(t *testing.T) {
			c.SQL(t, "postgres", "CREATE DATABASE "+name+" TEMPLATE template0"+
				map[bool]string{true: " ENCODING 'LATIN1'"}[name == "latin1"])
			part(t, c, name)
		})
	}
}

// notifyCommitted: in the order of commits, with what was rolled back left out.
func notifyCommitted(t *testing.T, c *postgres.Cluster, db string) {
	s := serve(t, c.DSN(db))
	s.connected(t, 0)
	a, b := s.open(t, "a"), s.open(t, "b")
	c.SQL(t, db, postgres.Notify(`{"channel":"a","event":"new","data":"one\ntwo"}`)+
		postgres.Notify(`{"channel":"b"}`)+
		"BEGIN;\n"+postgres.Notify(`{"channel":"a","data":"never"}`)+"ROLLBACK;\n"+
		"BEGIN;\n"+postgres.Notify(numbered(1))+postgres.Notify(numbered(2))+"COMMIT;\n"+
		"NOTIFY other, 'not ours';\n")
	next(t, a, "new", "one\ntwo")
	next(t, a, "n", "1")
	next(t, a, "n", "2")
	next(t, b, "", "")
	a.Silent(t, settled)
	sessions := c.SQL(t, db, "SELECT count(*) FROM pg_stat_activity "+
		"WHERE application_name = 'm0serve --pg-listen'")
	if st, _ := s.stats(); st.Received != 4 || st.Published != 4 || sessions != "1" {
		t.Errorf("Stats = %+v, %s sessions; want 4 received and published, one session", st, sessions)
	}
}

// publisher prints the statement of m0pub for each JSON line of channel, data, event.
const publisher = `
import json, sys
import m0pub
for line in sys.stdin:
    print(m0pub.notify_sql(*json.loads(line)) + ";")
`

// python runs a script of m0pub.
func python(t *testing.T, script, in string) (out string, err error) {
	t.Helper()
	source, err := filepath.Abs("../../wsgi/python")
	if err != nil {
		t.Fatal(err)
	}
	exe, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: no python3 on PATH")
	}
	cmd := exec.Command(exe, "-B", "-c", script)
	cmd.Env = []string{"PYTHONPATH=" + source, "PATH=" + os.Getenv("PATH"), "PYTHONUTF8=1"}
	cmd.Stdin = strings.NewReader(in)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// notifySQL: what m0pub makes of any text arrives as it was, whatever
// standard_conforming_strings says.
func notifySQL(t *testing.T, c *postgres.Cluster, db string) {
	texts := []string{
		"", "plain", `it's "quoted" \ and \\ again`, "100% %s %(a)s :name ::text ? $1 {}",
		"'; DROP TABLE x; --",
		"tab\tand\nlines\n\nend\n", "\x01\x02\x1f\x7f", "äöü ☃ 😀 \u2028", `{"id": 7, "t": "x"}`,
		`\u0041 \n E'x' $$y$$`, strings.Repeat("x", 7900),
	}
	var in strings.Builder
	for i, text := range texts {
		line, _ := json.Marshal([]string{"a", text, fmt.Sprintf("it's %d%%", i)})
		in.Write(append(line, '\n'))
	}
	statements, err := python(t, publisher, in.String())
	if err != nil {
		t.Fatalf("notify_sql: %v\n%s", err, statements)
	}
	s := serve(t, c.DSN(db))
	s.connected(t, 0)
	a := s.open(t, "a")
	for _, conforming := range []string{"on", "off"} {
		c.SQL(t, db, "SET standard_conforming_strings = "+conforming+
			"; SET escape_string_warning = off;\n"+statements)
		for i, text := range texts {
			next(t, a, fmt.Sprintf("it's %d%%", i), text)
		}
	}
	if st, _ := s.stats(); st.Refused.Total() != 0 {
		t.Errorf("Stats = %+v, want nothing refused", st)
	}
}

const triggers = `
CREATE TABLE orders (id int, title text);
CREATE FUNCTION wrong() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_notify('m0', json_build_object(
    'channel', 'a', 'event', 'wrong', 'data', row_to_json(NEW))::text);
  PERFORM pg_notify('m0', row_to_json(NEW)::text);
  RETURN NEW; END $$;
CREATE FUNCTION good() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_notify('m0', json_build_object(
    'channel', 'a', 'event', 'order', 'data', row_to_json(NEW)::text)::text);
  RETURN NEW; END $$;
CREATE TRIGGER w AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION wrong();
CREATE TRIGGER x AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION good();
`

// notifyTrigger: a row as an object is refused, counted and explained; as text it
// arrives.
func notifyTrigger(t *testing.T, c *postgres.Cluster, db string) {
	s := serve(t, c.DSN(db))
	s.connected(t, 0)
	a := s.open(t, "a")
	c.SQL(t, db, triggers+"INSERT INTO orders VALUES (1, 'it''s'), (2, NULL);")
	next(t, a, "order", `{"id":1,"title":"it's"}`)
	next(t, a, "order", `{"id":2,"title":null}`)
	a.Silent(t, settled)
	st, _ := s.stats()
	if want := (pglisten.Refused{NotText: 2, Malformed: 2}); st.Refused != want || st.Published != 2 {
		t.Errorf("Stats = %+v, want %+v refused and 2 published", st, want)
	}
	log := s.Log()
	if strings.Count(log, "a notification is refused") != 1 ||
		!strings.Contains(log, "data is an object") ||
		!strings.Contains(log, "row_to_json(NEW)::text") {
		t.Errorf("log:\n%s\nwant one line that says what is wrong and what helps", log)
	}
}

// notifyReserved: a name of the server's own reaches nobody.
func notifyReserved(t *testing.T, c *postgres.Cluster, db string) {
	s := serve(t, c.DSN(db))
	s.connected(t, 0)
	a := s.open(t, "a")
	c.SQL(t, db, `SELECT pg_notify('m0', json_build_object(
		'channel', E'\x01' || '0/1', 'data', 'x')::text);`+
		postgres.Notify(`{"channel":"\u0001"}`)+postgres.Notify(`{"channel":"a","data":"after"}`))
	next(t, a, "", "after")
	if st, _ := s.stats(); st.Refused != (pglisten.Refused{Reserved: 2}) {
		t.Errorf("Stats = %+v, want 2 refused as reserved", st)
	}
}

// notifyLimit: PostgreSQL takes 7,999 bytes, and both sides say so.
func notifyLimit(t *testing.T, c *postgres.Cluster, db string) {
	s := serve(t, c.DSN(db))
	s.connected(t, 0)
	a := s.open(t, "a")
	frame := len(`{"channel":"a","data":""}`)
	fits := strings.Repeat("x", 7999-frame)
	c.SQL(t, db, postgres.Notify(`{"channel":"a","data":"`+fits+`"}`))
	s.published(t, 1)
	next(t, a, "", fits)
	out, err := c.TrySQL(db, `SELECT pg_notify('m0', '{"channel":"a","data":"`+fits+`y"}');`)
	if err == nil || !strings.Contains(out, "payload string too long") {
		t.Errorf("8000 bytes: %v, %q; want PostgreSQL to refuse them", err, out)
	}
	line, _ := json.Marshal([]string{"a", fits + "y"})
	out, err = python(t, publisher, string(line)+"\n")
	const cure = "a notification of 8000 bytes, at most 7999: publish the id of a row"
	if err == nil || !strings.Contains(out, cure) {
		t.Errorf("notify_sql with 8000 bytes: %v, %q; want what to do instead", err, out)
	}
}

// notifyLatin1: a database in another encoding changes nothing.
func notifyLatin1(t *testing.T, c *postgres.Cluster, db string) {
	s := serve(t, c.DSN(db))
	s.connected(t, 0)
	a := s.open(t, "a")
	c.SQL(t, db, postgres.Notify(`{"channel":"a","event":"é","data":"äöü"}`))
	s.published(t, 1)
	next(t, a, "é", "äöü")
	if encoding := c.SQL(t, db, "SHOW server_encoding"); encoding != "LATIN1" {
		t.Errorf("the database is %s: this shows nothing", encoding)
	}
}

// notifyPassword: a wrong password is tried again and is shown nowhere.
func notifyPassword(t *testing.T, c *postgres.Cluster, db string) {
	c.SQL(t, db, "CREATE ROLE shop LOGIN PASSWORD 'other'")
	dsn := strings.Replace(c.DSN(db), "postgres@", "shop:hunter2@", 1)
	s := serve(t, dsn)
	st := s.until(t, "a refusal", func(st pglisten.Stats) bool { return st.LastError != "" })
	if st.Connected || !strings.Contains(st.LastError, "password authentication failed") {
		t.Errorf("Stats = %+v, want the reason", st)
	}
	c.SQL(t, db, "ALTER ROLE shop PASSWORD 'hunter2'")
	s.connected(t, 0)
	a := s.open(t, "a")
	c.SQL(t, db, postgres.Notify(numbered(1)))
	next(t, a, "n", "1")
	st, _ = s.stats()
	if log := s.Log(); strings.Contains(log+fmt.Sprintf("%+v", st), "hunter2") ||
		!strings.Contains(log, "password authentication failed") {
		t.Errorf("log:\n%s\nwant the reason without the password", log)
	}
}

// notifyBurst: a commit with more than a stream's queue holds may cut the stream,
// and who comes back has the rest from the journal: all of it, in order, once.
func notifyBurst(t *testing.T, c *postgres.Cluster, db string) {
	const count = 3000
	s := serve(t, c.DSN(db), "M0_JOURNAL=4096")
	s.connected(t, 0)
	a := s.open(t, "a")
	c.SQL(t, db, postgres.Notify(numbered(0)))
	first := a.Next(t) // a stream that is cut ahead of all has an id to come back with
	if first.Data != "0" {
		t.Fatalf("got event %+v, want number 0", first)
	}
	last, cuts, began := first.ID, 0, time.Now()
	c.SQL(t, db, fmt.Sprintf("SELECT count(pg_notify('m0', format("+
		`'{"channel":"a","event":"n","data":"%%s"}', i))) FROM generate_series(1, %d) i`, count))
	for want := 1; want <= count; {
		e, open := a.Read(t)
		if !open {
			cuts++
			a = smoketest.Open(t, s.URL+"/events?channel=a", last)
			continue
		}
		if e.Data != fmt.Sprint(want) {
			t.Fatalf("got event %q %.100q, want number %d, after %d cuts", e.Name, e.Data, want, cuts)
		}
		want, last = want+1, e.ID
	}
	t.Logf("%d notifications of one commit on a stream in %v, %d cuts", count, time.Since(began), cuts)
	a.Silent(t, settled)
}

// SPDX-License-Identifier: MIT

//go:build linux

package pgsite

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/postgres"
	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/smoketest"
)

// TestEveryDoorMakesTheSameEvent compares bytes on the wire but the id, on streams of
// both workers.
func TestEveryDoorMakesTheSameEvent(t *testing.T) {
	pyserver.M0serveAlone(t)
	c := postgres.New(t)
	s := start(t, c)
	streams := s.streams(t)
	if n := c.Sessions(t); n != 1 {
		t.Fatalf("%d sessions listen for %d workers, want 1", n, workers)
	}
	for _, e := range []struct{ event, data string }{
		{"new", "hello"}, {"", "no name"}, {"empty", ""}, {"lines", "one\ntwo\n\nend\n"},
		{"it's", `"quoted" \ 100% äöü ☃ 😀`}, {"row", `{"id":7,"title":null}`},
	} {
		more := []string{"channel", "a", "data", e.data}
		said := map[string]string{"channel": "a", "data": e.data}
		if e.event != "" {
			more, said["event"] = append(more, "event", e.event), e.event
		}
		s.ask(t, "/publish", more...)
		want := next(t, streams)
		payload, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		for door, statement := range map[string]string{
			"psql": postgres.Notify(string(payload)), "notify_sql": s.ask(t, "/sql", more...) + ";",
		} {
			c.SQL(t, "postgres", statement)
			if got := next(t, streams); got != want {
				t.Errorf("%s: got %q, want %q as of m0pub.publish", door, got, want)
			}
		}
	}
	silent(t, streams)
	s.wantFigures(t, map[string]int{"m0_postgres_published_total": 12})
}

// TestViewsHoldNothingUp: a view of worker 0 holds the interpreter for 5 s, or sleeps
// in the only thread, and events arrive on both workers as ever.
func TestViewsHoldNothingUp(t *testing.T) {
	pyserver.M0serveAlone(t)
	c := postgres.New(t)
	s := start(t, c)
	streams := s.streams(t)
	for _, view := range []struct{ name, said, answer string }{
		{"hold", "SITE holds", "held"}, {"sleep", "SITE sleeps", "slept"},
	} {
		t.Run(view.name, func(t *testing.T) {
			busy := s.dial(t, 0)
			began := time.Now()
			send(busy, target("/"+view.name, "s", "5"))
			smoketest.Until(t, view.said, func() bool { return strings.Contains(s.Log(), view.said) })
			slowest := time.Duration(0)
			for n := 0; n < 20 && time.Since(began) < 4*time.Second; n++ {
				told := time.Now()
				c.SQL(t, "postgres", numbered(n))
				wantNext(t, streams, "n", strconv.Itoa(n))
				slowest = max(slowest, time.Since(told))
			}
			if err := busy.Silent(time.Millisecond); err != nil {
				t.Fatalf("%v after %v: the view is over, which shows nothing", err, time.Since(began))
			}
			t.Logf("the slowest event took %v from psql to all streams", slowest)
			if slowest > atOnce {
				t.Errorf("an event took %v, want %v at most", slowest, atOnce)
			}
			if r, err := busy.Read("GET"); err != nil || string(r.Body) != view.answer {
				t.Errorf("%v %v, want %s", r, err, view.answer)
			}
			silent(t, streams)
		})
	}
}

const trigger = `
CREATE TABLE orders (id int, title text);
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_notify('m0', json_build_object(
    'channel', 'a', 'event', 'order', 'data', row_to_json(NEW))::text);
  PERFORM pg_notify('m0', json_build_object(
    'channel', 'a', 'event', 'order', 'data', row_to_json(NEW)::text)::text);
  RETURN NEW; END $$;
CREATE TRIGGER t AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION tell();
`

// TestRefusedNotificationsAreCounted: a row as an object, and a name of our own.
func TestRefusedNotificationsAreCounted(t *testing.T) {
	pyserver.M0serveAlone(t)
	c := postgres.New(t)
	s := start(t, c)
	streams := s.streams(t)
	c.SQL(t, "postgres", trigger+"INSERT INTO orders VALUES (1, 'it''s'), (2, NULL);"+
		postgres.Notify(`{"channel":"\u0001grip","data":"x"}`))
	wantNext(t, streams, "order", `{"id":1,"title":"it's"}`)
	wantNext(t, streams, "order", `{"id":2,"title":null}`)
	silent(t, streams)
	s.wantFigures(t, map[string]int{
		`m0_postgres_refused_total[{]worker="0",cause="not_text"}`: 2,
		`m0_postgres_refused_total[{]worker="0",cause="reserved"}`: 1,
		"m0_postgres_published_total":                              2,
	})
	log := s.Log()
	if strings.Count(log, "a notification is refused") != 1 ||
		!strings.Contains(log, "row_to_json(NEW)::text") {
		t.Errorf("log:\n%s\nwant one line with the cure", log)
	}
}

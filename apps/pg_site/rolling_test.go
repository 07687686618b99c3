// SPDX-License-Identifier: MIT

//go:build linux

package pgsite

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"m0serve.dev/apps/internal/postgres"
	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/smoketest"
)

// A reader is a page: it comes back with the id it has, as often as it is cut.
type reader struct {
	s      *site
	stream *smoketest.Stream
	last   string // id
	due    int    // the next number
	gaps   []gap
	missed int
	cuts   int
}

// A gap is a run of numbers that did not arrive.
type gap struct{ first, last int }

func (s *site) reader(t *testing.T) *reader {
	t.Helper()
	return &reader{s: s, stream: smoketest.Open(t, s.URL+target("/stream", "channel", "a"), "")}
}

// next is the number of the next event.
func (r *reader) next(t *testing.T) int {
	t.Helper()
	for {
		e, open := r.stream.Read(t)
		if !open {
			r.cuts++
			r.stream = smoketest.Open(t, r.s.URL+target("/stream", "channel", "a"), r.last)
			continue
		}
		n, err := strconv.Atoi(e.Data)
		if err != nil || e.Name != "n" {
			t.Fatalf("got event %+v, want a number", e)
		}
		r.last = e.ID
		return n
	}
}

// upTo reads until last or a later number has arrived, and fails the test unless they
// grow.
func (r *reader) upTo(t *testing.T, last int) {
	t.Helper()
	for r.due <= last {
		n := r.next(t)
		if n < r.due {
			t.Fatalf("got %d where %d was due: twice, or out of order", n, r.due)
		}
		if n > r.due {
			r.gaps = append(r.gaps, gap{r.due, n - 1})
			r.missed += n - r.due
		}
		r.due = n + 1
	}
}

// observed is what PostgreSQL itself says while it is written to: a session notes how
// many listeners there are, and since when each listens; another notifies a number in
// each transaction, with the time at which that began.
const observed = `
CREATE TABLE told (n int, began timestamptz);
CREATE TABLE heard (pid int PRIMARY KEY, since timestamptz);
CREATE TABLE most (n int, looks int);
CREATE TABLE over (yes bool);
CREATE PROCEDURE look() LANGUAGE plpgsql AS $$ DECLARE m int := 0; looks int := 0; k int;
BEGIN
  WHILE NOT EXISTS (SELECT FROM over) LOOP
    PERFORM pg_stat_clear_snapshot();
    SELECT count(*) INTO k FROM pg_stat_activity WHERE ` + postgres.Listening + `;
    m := greatest(m, k);
    looks := looks + 1;
    INSERT INTO heard SELECT pid, state_change FROM pg_stat_activity
      WHERE ` + postgres.Listening + ` AND query = 'LISTEN m0' AND state = 'idle'
      ON CONFLICT DO NOTHING;
    COMMIT;
    PERFORM pg_sleep(0.001);
  END LOOP;
  INSERT INTO most VALUES (m, looks);
END $$;
CREATE PROCEDURE tell() LANGUAGE plpgsql AS $$ DECLARE i int := 0; BEGIN
  WHILE NOT EXISTS (SELECT FROM over) LOOP
    INSERT INTO told VALUES (i, clock_timestamp());
    PERFORM pg_notify('m0', format('{"channel":"a","event":"n","data":"%s"}', i));
    COMMIT;
    i := i + 1;
    PERFORM pg_sleep(0.005);
  END LOOP;
END $$;
`

// TestRollingRestartsLoseNothingThatIsListenedTo: there is never more than one LISTEN,
// every event arrives once and in order, and what does not arrive began before the
// LISTEN of the successor was answered.
func TestRollingRestartsLoseNothingThatIsListenedTo(t *testing.T) {
	pyserver.M0serveAlone(t)
	const rounds = 5
	c := postgres.New(t)
	c.SQL(t, "postgres", observed)
	s := start(t, c, "--journal", "10000")
	readers := []*reader{s.reader(t), s.reader(t), s.reader(t)}
	ended := call(c, "look", "tell")
	numbers := "SELECT coalesce(max(n), 0) FROM told"
	for round := range rounds {
		s.Signal(t, syscall.SIGHUP)
		behind := -1 // what is told once the restart is over
		for behind < 0 || readers[0].due <= behind+20 {
			if behind < 0 && strings.Count(s.Log(), "every worker is replaced") > round {
				s.listening(t, 1)
				behind = counted(t, c, numbers)
			}
			for _, r := range readers {
				r.upTo(t, counted(t, c, numbers))
			}
		}
	}
	c.SQL(t, "postgres", "INSERT INTO over VALUES (true);")
	for range 2 {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	if most := counted(t, c, "SELECT n FROM most"); most != 1 {
		t.Errorf("%d sessions listened at a time, want 1", most)
	}
	if n := counted(t, c, "SELECT count(*) FROM heard"); n != rounds+1 {
		t.Errorf("%d sessions listened, want one of each worker 0: %d", n, rounds+1)
	}
	t.Logf("%d looks at pg_stat_activity", counted(t, c, "SELECT looks FROM most"))
	for _, r := range readers {
		r.upTo(t, counted(t, c, numbers))
		r.judge(t, c, rounds)
	}
}

// call runs procedures, each in a session of its own.
func call(c *postgres.Cluster, procedures ...string) <-chan error {
	ended := make(chan error, len(procedures))
	for _, name := range procedures {
		go func() {
			out, err := c.TrySQL("postgres", "CALL "+name+"();")
			if err != nil {
				err = fmt.Errorf("%s: %v: %s", name, err, out)
			}
			ended <- err
		}()
	}
	return ended
}

// judge wants at most one gap a restart, over before the LISTEN of the successor.
func (r *reader) judge(t *testing.T, c *postgres.Cluster, restarts int) {
	t.Helper()
	t.Logf("%d of %d numbers are missing in %v, %d restarts, %d cuts",
		r.missed, r.due, r.gaps, restarts, r.cuts)
	if r.cuts < restarts || r.missed == r.due {
		t.Errorf("cut %d times in %d restarts: this shows nothing", r.cuts, restarts)
	}
	if len(r.gaps) > restarts {
		t.Errorf("%d gaps in %d restarts", len(r.gaps), restarts)
	}
	for _, g := range r.gaps {
		late := counted(t, c, fmt.Sprintf(`SELECT count(*) FROM told f, told l, heard
			WHERE f.n = %d AND l.n = %d AND f.began < since AND since < l.began`, g.first, g.last))
		first := counted(t, c, fmt.Sprintf(`SELECT count(*) FROM told, heard
			WHERE n = %d AND since BETWEEN began AND began + interval '5 s'`, g.last))
		if late > 0 || first == 0 {
			t.Errorf("numbers %d to %d are missing, and not for want of a LISTEN", g.first, g.last)
		}
	}
}

func counted(t *testing.T, c *postgres.Cluster, query string) int {
	t.Helper()
	text := c.SQL(t, "postgres", query)
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %q, want a number", query, text)
	}
	return n
}

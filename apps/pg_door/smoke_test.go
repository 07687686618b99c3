// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/wsgi/pglisten"
)

var bin string

func TestMain(m *testing.M) { smoketest.Main(m, &bin, main) }

// skipShort leaves out what runs real binaries.
func skipShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: runs a real PostgreSQL")
	}
}

// A service is a running pg_door.
type service struct{ *smoketest.Process }

// serve starts a service that listens to dsn.
func serve(t *testing.T, dsn string, env ...string) service {
	t.Helper()
	return service{smoketest.Start(t, bin, append([]string{"M0_PG_LISTEN=" + dsn}, env...)...)}
}

// stats are the listener's, which is in worker 0: whoever else answers has none.
func (s service) stats() (stats pglisten.Stats, ok bool) {
	client := smoketest.Client()
	for range 50 {
		resp, err := client.Get(s.URL + "/door")
		if err != nil {
			return stats, false
		}
		ok = resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(&stats) == nil
		resp.Body.Close()
		if ok {
			return stats, true
		}
	}
	return stats, false
}

// until waits for figures of the listener.
func (s service) until(
	t *testing.T, what string, ok func(pglisten.Stats) bool,
) (st pglisten.Stats) {
	t.Helper()
	smoketest.Until(t, what, func() bool {
		var there bool
		st, there = s.stats()
		return there && ok(st)
	})
	return st
}

func (s service) connected(t *testing.T, reconnects uint64) {
	t.Helper()
	s.until(t, fmt.Sprintf("LISTEN, %d of them before", reconnects), func(st pglisten.Stats) bool {
		return st.Connected && st.Reconnects >= reconnects
	})
}

// published fails the test unless all of the first n notifications are, at once.
func (s service) published(t *testing.T, n uint64) {
	t.Helper()
	st := s.until(t, "a notification", func(st pglisten.Stats) bool {
		return st.Received >= n || st.LastError != ""
	})
	if st.Published != n || st.Refused.Total() != 0 {
		t.Fatalf("Stats = %+v, want %d published\n%s", st, n, s.Log())
	}
}

// open opens a stream of channel.
func (s service) open(t *testing.T, channel string) *smoketest.Stream {
	t.Helper()
	return smoketest.Open(t, s.URL+"/events?channel="+channel, "")
}

// next fails the test unless the next event is this one.
func next(t *testing.T, s *smoketest.Stream, name, data string) {
	t.Helper()
	if e := s.Next(t); e.Name != name || e.Data != data || e.Number() == 0 {
		t.Fatalf("got event %q %.200q with id %q, want %q %.200q with an id",
			e.Name, e.Data, e.ID, name, data)
	}
}

func numbered(n int) string { return fmt.Sprintf(`{"channel":"a","event":"n","data":"%d"}`, n) }

// settled is how long a second delivery would be waited for.
const settled = 300 * time.Millisecond

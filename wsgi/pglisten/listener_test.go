// SPDX-License-Identifier: MIT

package pglisten

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestNotificationsArePublished(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, l *Listener, f *fake, h *heard) {
		f.notify(`{"channel":"a","event":"new","data":"x\ny"}`, `{"channel":"b"}`)
		synctest.Wait()
		if got, want := h.got(), "a|new|x\ny|true b|||true"; got != want {
			t.Errorf("published %q, want %q", got, want)
		}
		s := l.Stats()
		if !s.Connected || s.Received != 2 || s.Published != 2 || s.Reconnects != 0 || s.LastError != "" {
			t.Errorf("Stats() = %+v, want connected, 2 received and published, no reconnect", s)
		}
		if f.startup["client_encoding"] != "UTF8" || f.startup["application_name"] != applicationName {
			t.Errorf("startup %v, want UTF8 and %q", f.startup, applicationName)
		}
	})
}

// What arrives before LISTEN or an empty query is answered is published too.
func TestNothingIsMissedWhileSomethingIsAsked(t *testing.T) {
	during := func(sql string) []string {
		return []string{`{"channel":"a","data":"` + sql + `"}`}
	}
	set := func(_ *Config, f *fake) { f.during = during }
	inBubble(t, set, func(t *testing.T, l *Listener, f *fake, h *heard) {
		time.Sleep(checkEveryDefault + time.Second)
		synctest.Wait()
		if got := h.got(); !strings.HasSuffix(got, "a||LISTEN m0|true a|||true") {
			t.Errorf("published %q, want what came during LISTEN and the empty query", got)
		}
	})
}

func TestRefusedNotificationsAreCounted(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, l *Listener, f *fake, h *heard) {
		f.notify(`no JSON`, `{"channel":"a","data":{"id":1}}`, `{"channel":"\u0001x"}`,
			`{"channel":""}`, `{"channel":"a","data":"good"}`)
		synctest.Wait()
		s := l.Stats()
		want := Refused{Malformed: 1, NotText: 1, Reserved: 1, BadName: 1}
		if s.Refused != want || s.Received != 5 || s.Published != 1 {
			t.Errorf("Stats() = %+v, want %+v refused, 5 received, 1 published", s, want)
		}
		h.fail = errors.New("every worker is full")
		f.notify(`{"channel":"a"}`)
		synctest.Wait()
		s = l.Stats()
		if s.Refused.Failed != 1 || s.Refused.Total() != 5 || s.Received != 6 {
			t.Errorf("Stats() = %+v, want 1 failed of 5 refused", s)
		}
	})
}

func TestRefusalsAreLoggedNowAndThen(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, l *Listener, f *fake, h *heard) {
		for range 100 {
			f.notify(`{"channel":"a","data":{"id":1}}`)
		}
		synctest.Wait()
		lines := h.with("a notification is refused")
		if len(lines) != 1 || !strings.Contains(lines[0], "row_to_json(NEW)::text") {
			t.Fatalf("logged %q, want one line with the cure", lines)
		}
		time.Sleep(refusalEvery)
		f.notify(`{"channel":"a","data":[]}`)
		synctest.Wait()
		lines = h.with("a notification is refused")
		if len(lines) != 2 || !strings.Contains(lines[1], "more=99") {
			t.Errorf("logged %q, want a second line that tells of 99 others", lines)
		}
	})
}

func TestLostConnectionIsMadeAgain(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, l *Listener, f *fake, h *heard) {
		for i := range 3 {
			f.drop()
			synctest.Wait()
			if s := l.Stats(); s.Connected || s.LastError == "" {
				t.Fatalf("Stats() = %+v after a drop, want not connected and a reason", s)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			f.notify(`{"channel":"a","data":"again"}`)
			synctest.Wait()
			s := l.Stats()
			if !s.Connected || s.Reconnects != uint64(i+1) || s.Published != uint64(i+1) {
				t.Fatalf("Stats() = %+v after drop %d, want connected, %[2]d published", s, i+1)
			}
		}
		if n := len(h.with("what was notified in between is lost")); n != 3 {
			t.Errorf("%d lines say what is lost, want 3", n)
		}
		listens := 0
		for _, sql := range f.asked {
			if sql == "LISTEN m0" {
				listens++
			}
		}
		if listens != 4 {
			t.Errorf("asked %q, want LISTEN 4 times", f.asked)
		}
	})
}

// The default figures find a link that is dead without a word within 30 s.
func TestDeadLinkIsFound(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, l *Listener, f *fake, h *heard) {
		time.Sleep(time.Hour) // the link is tried and lives
		synctest.Wait()
		if s := l.Stats(); !s.Connected || s.Reconnects != 0 {
			t.Fatalf("Stats() = %+v after an hour of silence, want the first connection", s)
		}
		if f.asked[len(f.asked)-1] != "" {
			t.Fatalf("asked %q last, want an empty query", f.asked[len(f.asked)-1])
		}
		f.set(func() { f.silent = true })
		dead := time.Now()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		s := l.Stats()
		if s.Connected || s.LastAt.Sub(dead) > l.cfg.foundWithin() {
			t.Fatalf("Stats() = %+v, 30s after the link died at %v; want it found in %v",
				s, dead, l.cfg.foundWithin())
		}
		f.set(func() { f.silent = false })
		time.Sleep(answerWithinDefault + retryMaxDefault)
		synctest.Wait()
		if s := l.Stats(); !s.Connected || s.Reconnects != 1 {
			t.Errorf("Stats() = %+v once the link is back, want one reconnect", s)
		}
	})
}

// Traffic counts as life, and silence is measured from the last of it.
func TestBusyLinkIsNotTried(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, l *Listener, f *fake, h *heard) {
		for range 60 {
			time.Sleep(checkEveryDefault - time.Second)
			f.notify(`{"channel":"a"}`)
			synctest.Wait()
		}
		if slices.Contains(f.asked, "") {
			t.Errorf("asked %q, want no empty query", f.asked)
		}
	})
}

func TestUnreachablePostgresIsTriedWithPauses(t *testing.T) {
	set := func(_ *Config, f *fake) { f.refuse = "no entry for " + secret }
	inBubble(t, set, func(t *testing.T, l *Listener, f *fake, h *heard) {
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		n := len(f.dials)
		if n < 120 || n > 260 {
			t.Errorf("%d attempts in 10 minutes, want one every 2.5 to 5 s", n)
		}
		pauses := map[time.Duration]bool{}
		for i := 1; i < n; i++ {
			pause := f.dials[i].Sub(f.dials[i-1])
			if most := min(retryMin<<min(i-1, 10), retryMaxDefault); pause < most/2 || pause > most {
				t.Errorf("pause %d is %v, want %v to %v", i, pause, most/2, most)
			}
			pauses[pause] = true
		}
		if len(pauses) < n/2 {
			t.Errorf("%d different pauses of %d, want jitter", len(pauses), n)
		}
		if lines := len(h.with("is not reached")); lines < 9 || lines > 11 {
			t.Errorf("%d log lines in 10 minutes, want one a minute", lines)
		}
		if s := l.Stats(); !strings.Contains(s.LastError, "no entry for ***") {
			t.Errorf("LastError = %q, want the reason without the password", s.LastError)
		}
		f.set(func() { f.refuse = "" })
		time.Sleep(retryMaxDefault)
		synctest.Wait()
		if !l.Stats().Connected {
			t.Errorf("not connected though PostgreSQL is back: %+v", l.Stats())
		}
		time.Sleep(time.Minute)
		f.drop() // after a session that lasted the pauses begin anew
		time.Sleep(retryMin)
		synctest.Wait()
		if !l.Stats().Connected {
			t.Errorf("not connected %v after a drop: %+v", retryMin, l.Stats())
		}
	})
}

// A server that takes us and drops us at once is not tried without pauses.
func TestConnectionsThatDoNotLastArePausedFor(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, l *Listener, f *fake, h *heard) {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
			if l.Stats().Connected {
				f.drop()
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		if n := len(f.dials); n > 40 {
			t.Errorf("%d attempts in a minute, want at most 40", n)
		}
	})
}

func TestServerThatIsSilentFromTheStart(t *testing.T) {
	set := func(_ *Config, f *fake) { f.silent = true }
	inBubble(t, set, func(t *testing.T, l *Listener, f *fake, h *heard) {
		time.Sleep(answerWithinDefault + time.Second)
		synctest.Wait()
		if s := l.Stats(); s.LastError == "" {
			t.Errorf("Stats() = %+v, want a reason after %v", s, answerWithinDefault)
		}
	})
}

func TestStandbyIsNotListenedTo(t *testing.T) {
	set := func(_ *Config, f *fake) { f.standby = true }
	inBubble(t, set, func(t *testing.T, l *Listener, f *fake, h *heard) {
		time.Sleep(time.Second)
		synctest.Wait()
		if s := l.Stats(); s.Connected || !strings.Contains(s.LastError, "standby") {
			t.Errorf("Stats() = %+v, want not connected to a standby", s)
		}
	})
}

func TestRunIsCalledOnce(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, l *Listener, f *fake, h *heard) {
		defer func() {
			if recover() == nil {
				t.Error("a second Run did not panic")
			}
		}()
		l.Run(t.Context())
	})
}

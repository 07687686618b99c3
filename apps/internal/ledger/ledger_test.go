// SPDX-License-Identifier: MIT

package ledger

import (
	"strings"
	"testing"
	"time"
)

// at is so many seconds after some moment.
func at(seconds int) time.Time { return time.Unix(1000+int64(seconds), 0) }

func TestFailuresArePutDownToDeaths(t *testing.T) {
	died := Death{Worker: "1", From: at(10), To: at(11)}
	for _, tt := range []struct {
		name    string
		f       Failure
		strange bool
	}{
		{"in flight", Failure{Worker: "1", Opened: at(5), At: at(10)}, false},
		{"noticed later", Failure{Worker: "1", Opened: at(5), At: at(60)}, false},
		{"nobody's yet", Failure{Opened: at(10), At: at(12)}, false},
		{"opened while it died", Failure{Worker: "1", Opened: at(11), At: at(12)}, false},
		{"the sibling's", Failure{Worker: "0", Opened: at(5), At: at(10)}, true},
		{"before it died", Failure{Worker: "1", Opened: at(5), At: at(9)}, true},
		{"the successor's", Failure{Worker: "1", Opened: at(12), At: at(13)}, true},
	} {
		var r Requests
		r.Died(died)
		r.Failed(tt.f)
		if got := len(r.Unexplained(1)) > 0; got != tt.strange {
			t.Errorf("%s: unexplained %v, want %v", tt.name, got, tt.strange)
		}
	}
}

func TestADeathExplainsOneFailureAClient(t *testing.T) {
	var r Requests
	r.Died(Death{Worker: "1", From: at(10), To: at(11)})
	for range 3 {
		r.Failed(Failure{Worker: "1", Opened: at(5), At: at(10)})
	}
	if n := len(r.Unexplained(2)); n != 1 {
		t.Errorf("%d of 3 failures of 2 clients are unexplained, want 1", n)
	}
	for range 3 { // nobody's, and opened ahead: they may be the same clients' no more
		r.Failed(Failure{Opened: at(5), At: at(10)})
	}
	if n := len(r.Unexplained(2)); n != 4 {
		t.Errorf("%d of 6 failures of 2 clients are unexplained, want 4", n)
	}
	for range 3 { // these may have come while it died
		r.Failed(Failure{Opened: at(10), At: at(11)})
	}
	if n := len(r.Unexplained(2)); n != 4 {
		t.Errorf("%d of 9 failures are unexplained, want the 4 of before", n)
	}
	r = Requests{}
	r.Died(Death{Worker: "1", From: at(10), To: at(11)})
	for range 3 {
		r.Failed(Failure{Worker: "1", Opened: at(5), At: at(10)})
	}
	r.Died(Death{From: at(10), To: at(11)})
	r.Failed(Failure{Opened: at(5), At: at(11)})
	r.Failed(Failure{Opened: at(5), At: at(11)})
	if n := len(r.Unexplained(1)); n != 2 {
		t.Errorf("%d failures are unexplained by a worker's and a listener's death, want 2 of the"+
			" worker's", n)
	}
}

// TestEachFailureLeavesTheOthersTheirDeath: a failure that may be of either death leaves
// the other one to the failure that can be of it alone.
func TestEachFailureLeavesTheOthersTheirDeath(t *testing.T) {
	for _, tt := range []struct {
		name   string
		deaths []Death
		failed []Failure
	}{
		{"nobody's, ahead of one who knows his worker",
			[]Death{{"0", at(10), at(11)}, {"1", at(10), at(11)}},
			[]Failure{{Opened: at(9), At: at(10)}, {Worker: "0", Opened: at(5), At: at(10)}}},
		{"two lives of a worker, and the first dies without an answer",
			[]Death{{"0", at(10), at(11)}, {"0", at(20), at(21)}},
			[]Failure{{Worker: "0", Opened: at(5), At: at(20)}, {Opened: at(9), At: at(10)}}},
		{"three deaths, and each moves up",
			[]Death{{"0", at(10), at(11)}, {"0", at(20), at(21)}, {"0", at(30), at(31)}},
			[]Failure{{Worker: "0", Opened: at(5), At: at(30)}, {Worker: "0", Opened: at(5), At: at(20)},
				{Worker: "0", Opened: at(5), At: at(10)}}},
	} {
		r := Requests{deaths: tt.deaths, failed: tt.failed}
		if strange := r.Unexplained(1); len(strange) != 0 {
			t.Errorf("%s: unexplained: %v, want none", tt.name, strange)
		}
	}
}

func TestFloorOfRequests(t *testing.T) {
	var r Requests
	r.Sent()
	if err := r.Floor(0); err == nil || !strings.Contains(err.Error(), "neither") {
		t.Errorf("Floor with a request on its way = %v, want that said", err)
	}
	r.Answered("0")
	if err := r.Floor(1); err != nil {
		t.Errorf("Floor(1) of one answer = %v, want nil", err)
	}
	if err := r.Floor(2); err == nil || !strings.Contains(err.Error(), "vacuous") {
		t.Errorf("Floor(2) of one answer = %v, want vacuous", err)
	}
}

// TestJudge has one stream for each thing that can become of events 10 to 14.
func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name string
		seen []int // ids; a negative one is told
		want Verdict
		ok   bool
	}{
		{"all", []int{10, 11, 12, 13, 14}, Verdict{Seen: 5}, true},
		{"late", []int{12, 13, 14}, Verdict{Seen: 3}, true},
		{"lost", []int{10, 11, 13, 14}, Verdict{Seen: 4, Lost: 1}, false},
		{"lost at the end", []int{10, 11, 12, 13}, Verdict{Seen: 4, Lost: 1}, false},
		{"told", []int{10, -12}, Verdict{Seen: 1, Told: 4}, true},
		{"told, and then old ones", []int{10, -12, 12, 13}, Verdict{Seen: 3, Told: 2}, true},
		{"told at first", []int{-12, 13, 14}, Verdict{Seen: 2, Told: 1}, true},
		{"twice", []int{10, 11, 12, 12, 13, 14}, Verdict{Seen: 5, Twice: 1}, false},
		{"crossed", []int{10, 12, 11, 13, 14}, Verdict{Seen: 5, Disorder: 1}, false},
		{"strange", []int{10, 11, 12, 13, 14, 15}, Verdict{Seen: 6, Strangers: 1}, false},
		{"silent", nil, Verdict{Lost: 5, Silent: 1}, false},
	} {
		var e Events
		for id := uint64(10); id < 15; id++ {
			e.Published(id)
		}
		s := e.Open(tt.name)
		for _, id := range tt.seen {
			if id < 0 {
				s.Told(uint64(-id))
				continue
			}
			s.Seen(uint64(id))
		}
		got := e.Judge()
		err := got.Fault(5)
		got.Example, tt.want.Published = "", 5
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%s: %v, fault %v; want %v, %v", tt.name, got, err, tt.want, tt.ok)
		}
	}
}

// TestToldIsOfWhatWas: what is confirmed behind the news that something is missing has
// to come.
func TestToldIsOfWhatWas(t *testing.T) {
	var e Events
	s := e.Open("a")
	s.Seen(10)
	e.Published(10)
	e.Published(11)
	s.Told(10)
	e.Published(12)
	if v := e.Judge(); v.Told != 1 || v.Lost != 1 || s.Last() != 10 {
		t.Errorf("%v, last id %d; want 11 told of, 12 lost, and 10", v, s.Last())
	}
}

func TestDoubtIsNoStranger(t *testing.T) {
	var e Events
	e.Published(10)
	e.Doubtful()
	s := e.Open("a")
	s.Seen(10)
	s.Seen(11)
	if v := e.Judge(); v.Fault(1) != nil {
		t.Errorf("an event in doubt that came: %v, want no fault", v.Fault(1))
	}
	if err := e.Judge().Fault(2); err == nil || !strings.Contains(err.Error(), "vacuous") {
		t.Errorf("one event where two were due: %v, want vacuous", err)
	}
}

func TestAheadIsOfTheSlowest(t *testing.T) {
	var e Events
	for id := uint64(10); id < 15; id++ {
		e.Published(id)
	}
	e.Open("fast").Seen(14)
	e.Open("slow").Seen(11)
	e.Open("new")
	all := func(string) bool { return true }
	if n := e.Ahead(all); n != 3 {
		t.Errorf("Ahead = %d, want the 3 of the slow one", n)
	}
	if n := e.Ahead(func(name string) bool { return name == "fast" }); n != 0 {
		t.Errorf("Ahead of the fast one = %d, want 0", n)
	}
}

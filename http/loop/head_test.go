// SPDX-License-Identifier: MIT

package loop

import (
	"testing"
	"time"
)

// TestHeadIsUsedAgain: what an Exchange was told of its head makes the same head of
// another answer, and the connection's own part stays its own.
func TestHeadIsUsedAgain(t *testing.T) {
	l, _ := simConn(t, &simPeer{})
	first, second := &Exchange{}, &Exchange{}
	first.reset(l, nil, nil)
	first.req.Minor = 1
	first.SetStatusReason(201, "Made of \xfc")
	for _, f := range [][2]string{{"X-A", "b"}, {"Date", "today"}, {"Content-Length", "3"}} {
		if err := first.Field(f[0], f[1]); err != nil {
			t.Fatal(err)
		}
	}
	var h Head
	if !first.KeepHead(&h) {
		t.Fatal("KeepHead = false, want true")
	}
	want := string(first.appendHead(nil, 3))
	if first.clearAnswer(); first.KeepHead(&h) {
		t.Error("KeepHead of an answer that has begun = true, want false")
	}
	for range 2 {
		second.reset(l, nil, nil)
		second.req.Minor = 1
		second.UseHead(&h)
		if second.Append([]byte("four")) != ErrLength {
			t.Error("four bytes of three are taken")
		}
		if got := string(second.appendHead(nil, 3)); got != want {
			t.Errorf("head = %q, want %q", got, want)
		}
	}
	second.reset(l, nil, nil)
	second.CloseAfter()
	if second.KeepHead(&h) {
		t.Error("KeepHead of an answer that ends its connection = true, want false")
	}
}

// TestEnteredIsTheLoopsReading: a handler that is the first behind a look at the clock
// is told what was seen, and one behind another handler the time that it is.
func TestEnteredIsTheLoopsReading(t *testing.T) {
	l, _ := simConn(t, &simPeer{})
	k := l.k.(*simKernel)
	x := &Exchange{l: l, word: 1, entered: l.now}
	then := l.start.Add(l.now)
	k.now += time.Second
	if got := x.Entered(); !got.Equal(then) {
		t.Errorf("Entered = %v, want the loop's reading, %v", got, then)
	}
	x.entered = -1
	if got := x.Entered(); !got.Equal(k.Now()) {
		t.Errorf("behind another handler, Entered = %v, want %v", got, k.Now())
	}
}

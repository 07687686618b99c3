// SPDX-License-Identifier: MIT

package stream_test

import (
	"errors"
	"strings"
	"testing"

	"m0serve.dev/datastar"
	"m0serve.dev/datastar/stream"
	"m0serve.dev/http/bus"
	"m0serve.dev/http/sse"
)

func TestEventsOfAStream(t *testing.T) {
	h := newHub(t, sse.HubConfig{})
	s := newStream(h)
	p := open(t, serveLoop(t, s), "", "")
	common := datastar.Common{ID: "mine"}

	id, err := s.PatchElements([]byte("<b>"), datastar.ElementsOptions{
		Common: common, Selector: "#l", Mode: datastar.Append,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.wants("elements", "event: datastar-patch-elements\ndata: selector #l\ndata: mode append\n"+
		"data: elements <b>\n\n", idBlock(id))

	id, err = s.PatchSignals([]byte(`{"n":1}`), datastar.SignalsOptions{Common: common})
	if err != nil {
		t.Fatal(err)
	}
	p.wants("signals", "event: datastar-patch-signals\ndata: signals {\"n\":1}\n\n", idBlock(id))

	id, err = s.Publish(func(dst []byte) ([]byte, error) {
		return append(dst, element("a")+element("b")...), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.wants("two events", element("a"), element("b"), idBlock(id))
}

// TestErrorTakesNoId: nothing is sent, and no hole stays in the ids, for which
// the frames behind it would wait.
func TestErrorTakesNoId(t *testing.T) {
	h := newHub(t, sse.HubConfig{})
	s := newStream(h)
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		call func() error
		want error
	}{
		"PatchElements": {func() error {
			_, err := s.PatchElements(nil, datastar.ElementsOptions{Mode: datastar.Inner})
			return err
		}, datastar.ErrSelector},
		"Number": {func() error {
			_, err := s.Number(func([]byte) ([]byte, error) { return nil, broken })
			return err
		}, broken},
		"Number with an id": {func() error {
			_, err := s.Number(func(dst []byte) ([]byte, error) {
				return append(dst, "event: datastar-x\nid: 5\n\n"...), nil
			})
			return err
		}, stream.ErrID},
		"Number with an id first": {func() error {
			_, err := s.Number(func(dst []byte) ([]byte, error) { return append(dst, "id: 5\n\n"...), nil })
			return err
		}, stream.ErrID},
	} {
		before := h.NextID()
		if err := c.call(); !errors.Is(err, c.want) {
			t.Errorf("%s = %v; want %v", name, err, c.want)
		}
		if after := h.NextID(); after != before+1 {
			t.Errorf("%s took %d ids; want none", name, after-before-1)
		}
	}
}

// TestPublishThatFailsFillsItsPlace: its id was taken already.
func TestPublishThatFailsFillsItsPlace(t *testing.T) {
	h := newHub(t, sse.HubConfig{})
	s := newStream(h)
	p := open(t, serveLoop(t, s), "", "")
	broken := errors.New("broken")
	for name, encode := range map[string]func([]byte) ([]byte, error){
		"error": func(dst []byte) ([]byte, error) { return append(dst, "half"...), broken },
		"panic": func([]byte) ([]byte, error) { panic(broken) },
		"an id": func(dst []byte) ([]byte, error) { return append(dst, "\nid: 5\n\n"...), nil },
	} {
		before := h.NextID()
		func() {
			defer func() {
				if v := recover(); (v != nil) != (name == "panic") {
					t.Errorf("%s: Publish panics with %v", name, v)
				}
			}()
			if id, err := s.Publish(encode); err == nil || id != 0 {
				t.Errorf("%s: Publish = %d, %v; want an error", name, id, err)
			}
		}()
		next := patch(t, s, "next")
		p.wants(name, append([]string{idBlock(before + 1)}, frame("next", next)...)...)
	}
}

// TestPublishReadsAfterItsId: of two publishers at one moment the one that
// pages get last has seen the changes of both.
func TestPublishReadsAfterItsId(t *testing.T) {
	h := newHub(t, sse.HubConfig{})
	var other uint64
	id, err := newStream(h).Publish(func(dst []byte) ([]byte, error) {
		other = h.NextID()
		return append(dst, element("x")...), nil
	})
	if err != nil || id == 0 || id >= other {
		t.Errorf("Publish = %d, %v; want an id below %d, taken while it encodes", id, err, other)
	}
}

// TestTextIsNoId: text that looks like an id's line is data.
func TestTextIsNoId(t *testing.T) {
	h := newHub(t, sse.HubConfig{})
	s := newStream(h)
	p := open(t, serveLoop(t, s), "", "")
	id := patch(t, s, "a\nid: 5\rid: 6")
	p.wants("event", element("a\ndata: elements id: 5\ndata: elements id: 6"), idBlock(id))
}

func TestSendTellsWhatTheBusRefuses(t *testing.T) {
	h := newHub(t, sse.HubConfig{})
	_, err := newStream(h).PatchElements([]byte(strings.Repeat("x", bus.MaxBody)),
		datastar.ElementsOptions{})
	if !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("PatchElements above the bound of a frame = %v; want ErrTooLarge", err)
	}
}

// TestRestart: frames that were stored go into the next process, which goes on
// above their ids, and a page of the old one misses nothing.
func TestRestart(t *testing.T) {
	ahead := bus.Local() // the old process: its clock ran an hour ahead
	ahead.RaiseID(ahead.CurrentID() + 3600_000_000)
	t.Cleanup(ahead.Close)
	old := newHub(t, sse.HubConfig{Bus: ahead})
	s := newStream(old)
	p := open(t, serveLoop(t, s), "", "")
	var stored []stream.Frame
	for _, text := range []string{"1", "2", "3"} {
		f, err := s.Number(func(dst []byte) ([]byte, error) { return append(dst, element(text)...), nil })
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, f)
		if err := s.Send(f); err != nil {
			t.Fatal(err)
		}
		p.wants("before", frame(text, f.ID)...)
	}

	h := quietHub(t, sse.HubConfig{})
	s = newStream(h)
	for _, f := range stored {
		s.Restore(f)
	}
	h.Start()
	addr := serveLoop(t, s)
	behind, whole := open(t, addr, "", text(stored[0].ID)), open(t, addr, "", text(stored[2].ID))
	four := patch(t, s, "4")
	if four <= stored[2].ID {
		t.Errorf("the first id after a restart is %d; want one above %d", four, stored[2].ID)
	}
	behind.wants("behind", append(frame("2", stored[1].ID), frame("3", stored[2].ID)...)...)
	behind.wants("behind", frame("4", four)...)
	whole.wants("whole", frame("4", four)...)
}

// SPDX-License-Identifier: MIT

//go:build linux

package gripsite

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// permission is who may read a channel, and what becomes of a stream that may not
// any more.
var permissionCases = []testCase{
	{name: "forbidden", run: func(t *testing.T, s *site) {
		c := "_" + channelOf(t)
		e := s.open(t, "/events/"+c+"/").wantError(t, "forbidden")
		if !strings.Contains(e.Data, `"channels": ["`+c+`"]`) {
			t.Errorf("data %s, want the channel in it", e.Data)
		}
	}},
	{name: "forbidden-among-others", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		e := s.open(t, "/select/events/?channel="+c+"&channel=_"+c).wantError(t, "forbidden")
		if !strings.Contains(e.Data, `"channels": ["_`+c+`"]`) {
			t.Errorf("data %s, want the one channel in it", e.Data)
		}
	}},
	{name: "known-user", run: func(t *testing.T, s *site) {
		c := "_" + channelOf(t)
		_, is := s.login(t, c)
		f := s.open(t, "/events/"+c+"/", is).opened(t)
		s.send(t, c, "for the known")
		f.wants(t, "for the known")
	}},
	{name: "no-channel", run: func(t *testing.T, s *site) {
		s.open(t, "/select/events/").wantError(t, "bad-request")
	}},
	{name: "eleven-channels", run: func(t *testing.T, s *site) {
		q := url.Values{}
		for i := range 11 {
			q.Add("channel", fmt.Sprintf("%s-%d", channelOf(t), i))
		}
		e := s.open(t, "/select/events/?"+q.Encode()).wantError(t, "bad-request")
		if !strings.Contains(e.Data, "limit exceeded") {
			t.Errorf("data %s, want the limit named", e.Data)
		}
	}},
	{name: "kick", run: permissionKick},
	{name: "kick-of-nobody-known", run: func(t *testing.T, s *site) {
		c := "private-" + channelOf(t)
		s.permit(t, "", c, true)
		f := s.open(t, "/events/"+c+"/").opened(t)
		s.permit(t, "", c, false)
		f.wantKicked(t, c)
	}},
	{name: "kick-in-a-row", run: permissionKickAgain},
	{name: "recovery-checks-again", run: func(t *testing.T, s *site) {
		c := "private-" + channelOf(t)
		s.permit(t, "", c, true)
		f := s.open(t, "/events/"+c+"/").opened(t)
		s.send(t, c, "1")
		f.wants(t, "1")
		s.run(t, "manage.py", "shell", "-c",
			"from live.models import Permission as P; P.objects.filter(channel='"+c+"').delete()")
		s.posted(t, "/store/", "channel", c, "data", "2")
		s.send(t, c, "3")
		f.wantError(t, "forbidden")
	}},
}

// Whoever is let in again and kicked again within a minute is kicked, though the items
// of both kicks have the same ids.
func permissionKickAgain(t *testing.T, s *site) {
	c := "private-" + channelOf(t)
	_, is := s.login(t, c)
	for range 2 {
		s.permit(t, c, c, true)
		f := s.open(t, "/events/"+c+"/", is).opened(t)
		s.permit(t, c, c, false)
		f.ends(t)
		s.open(t, "/events/"+c+"/", is).wantError(t, "forbidden")
	}
}

// permit lets the user of a name, "" for those without, read a channel, or no more.
func (s *site) permit(t *testing.T, name, channel string, allow bool) {
	t.Helper()
	s.posted(t, "/permit/", "name", name, "channel", channel,
		"allow", map[bool]string{true: "1", false: "0"}[allow])
}

// wantKicked waits for the event of a kick and the end. Its data is not what
// wantError wants: django-eventstream writes it as Python does, not as JSON.
func (f *feed) wantKicked(t *testing.T, channel string) {
	t.Helper()
	e := f.take(t, 1)[0]
	if e.Name != "stream-error" || e.ID != "error" || !strings.Contains(e.Data, "forbidden") ||
		!strings.Contains(e.Data, channel) {
		t.Fatalf("event %+v, want stream-error, forbidden, %s", e, channel)
	}
	f.ends(t)
}

// A kick ends the streams of the user that have the channel, and no other.
func permissionKick(t *testing.T, s *site) {
	c := "private-" + channelOf(t)
	_, annIs := s.login(t, c+"-ann")
	_, bobIs := s.login(t, c+"-bob")
	s.permit(t, c+"-ann", c, true)
	s.permit(t, c+"-bob", c, true)
	kicked := s.open(t, "/events/"+c+"/", annIs).opened(t)
	elsewhere := s.open(t, "/events/"+channelOf(t)+"/", annIs).opened(t)
	other := s.open(t, "/events/"+c+"/", bobIs).opened(t)
	s.send(t, c, "before")
	kicked.wants(t, "before")
	s.permit(t, c+"-ann", c, false)
	kicked.wantKicked(t, c)
	s.open(t, "/events/"+c+"/", annIs).wantError(t, "forbidden")

	s.send(t, c, "after")
	other.wants(t, "before", "after")
	s.send(t, channelOf(t), "elsewhere")
	elsewhere.wants(t, "elsewhere")
}

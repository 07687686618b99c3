// SPDX-License-Identifier: MIT

package realtime

import (
	"slices"
	"strings"

	"m0serve.dev/http/grip"
)

// A subscriber is what a held answer has said of itself: its channels, with the last
// id of each, and its metadata. It is guarded by who holds it.
type subscriber struct{ grip.Subscriber }

func newSubscriber(in *grip.Instruct) subscriber {
	return subscriber{grip.Subscriber{Channels: slices.Clone(in.Channels), Meta: in.Meta}}
}

// names are those of the channels.
func (s *subscriber) names() []string {
	names := make([]string, len(s.Channels))
	for i := range s.Channels {
		names[i] = s.Channels[i].Name
	}
	return names
}

// channel is the one called name, nil when there is none.
func (s *subscriber) channel(name string) *grip.Channel {
	for i := range s.Channels {
		if s.Channels[i].Name == name {
			return &s.Channels[i]
		}
	}
	return nil
}

// isGap reports whether something is missing ahead of an item.
func (s *subscriber) isGap(it *grip.Item) bool {
	c := s.channel(it.Channel)
	return c != nil && !it.NoSeq && c.PrevID != "" && it.PrevID != "" && c.PrevID != it.PrevID
}

// follow says that an item is the last one of its channel, where the application has
// begun to count.
func (s *subscriber) follow(it *grip.Item) {
	if c := s.channel(it.Channel); c != nil && c.PrevID != "" && it.ID != "" {
		c.PrevID = it.ID
	}
}

// filter says what of a format's content this one gets of an item, which it follows;
// ok is false where it gets nothing. made are the content filters that the content is
// made for. Content that no filter changes is returned as it is.
func (s *subscriber) filter(
	it *grip.Item, made grip.Filters, content []byte,
) (got []byte, ok bool, err error) {
	c := s.channel(it.Channel)
	if c == nil {
		return nil, false, nil
	}
	s.follow(it)
	switch {
	case !c.Filters.Pass(it.Meta, &s.Subscriber), !c.Filters.Fits(made):
		return nil, false, nil
	case !c.Filters.Changes():
		return content, true, nil
	}
	got, err = c.Filters.Append(nil, content, &s.Subscriber)
	return got, err == nil, err
}

// catchesUp reports whether the hub's journal may speak for the application, which
// has no next link that it would be asked by.
func catchesUp(in *grip.Instruct, id string) bool {
	if in.Next.URI != "" {
		return false
	}
	return in.Short || strings.Trim(id, "0123456789") == ""
}

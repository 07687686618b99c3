// SPDX-License-Identifier: MIT

package grip

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Subscriber is what filters ask of a connection.
type Subscriber struct {
	Meta     Meta
	Channels []Channel // all of them; PrevID is the id of the last item, this one included
}

// prevID returns the id of the last item of channel and whether it is subscribed to.
func (to *Subscriber) prevID(channel string) (id string, subscribed bool) {
	for i := range to.Channels {
		if to.Channels[i].Name == channel {
			return to.Channels[i].PrevID, true
		}
	}
	return "", false
}

// Pass tells whether an item with the metadata item is for the subscriber.
func (fs Filters) Pass(item Meta, to *Subscriber) bool {
	for _, f := range fs {
		switch f {
		case SkipSelf:
			if user := to.Meta.Get("user"); user != "" && user == item.Get("sender") {
				return false
			}
		case SkipUsers:
			if user := to.Meta.Get("user"); user != "" && lists(item.Get("skip_users"), user) {
				return false
			}
		case RequireSub:
			if channel := item.Get("require_sub"); channel != "" {
				if _, subscribed := to.prevID(channel); !subscribed {
					return false
				}
			}
		}
	}
	return true
}

// lists tells whether the comma separated list has name.
func lists(list, name string) bool {
	for part := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(part) == name {
			return true
		}
	}
	return false
}

// Changes tells whether one of the filters changes content. Where none does, all
// subscribers get the same bytes.
func (fs Filters) Changes() bool { return slices.ContainsFunc(fs, Filter.Content) }

// Fits tells whether content that was made for the content filters made, as a
// format's Filters say, is for a subscription with the filters fs: they are the
// same ones in the same order, or it does not matter (nil).
func (fs Filters) Fits(made Filters) bool {
	if made == nil {
		return true
	}
	for _, f := range fs {
		if !f.Content() {
			continue
		}
		if len(made) == 0 || made[0] != f {
			return false
		}
		made = made[1:]
	}
	return len(made) == 0
}

// Append appends content to dst as the filters change it for the subscriber, one
// after the other. An error says what the content asks for that is not there;
// dst is then as it was.
func (fs Filters) Append(dst, content []byte, to *Subscriber) ([]byte, error) {
	changed, out := content, dst
	for i, f := range fs {
		if !f.Content() {
			continue
		}
		if out = dst; fs[i+1:].Changes() {
			out = nil // another one reads what this one writes
		}
		var err error
		if out, err = f.append(out, changed, to); err != nil {
			return dst, fmt.Errorf("grip: %s: %w", f, err)
		}
		changed = out
	}
	if !fs.Changes() {
		return append(dst, content...), nil
	}
	return out, nil
}

func (f Filter) append(dst, content []byte, to *Subscriber) ([]byte, error) {
	if f == VarSubst {
		return appendFormat(dst, content, func(dst []byte, d directive) ([]byte, error) {
			value, ok := to.Meta.Lookup(d.arg)
			if d.verb != 's' || !ok {
				return dst, fmt.Errorf("%s is no metadata of the connection", d)
			}
			return append(dst, value...), nil
		})
	}
	b := idBuilder{to: to}
	return appendFormat(dst, content, b.append)
}

// BodyFilters are the filters that the body of the answer goes through.
func (in *Instruct) BodyFilters() Filters {
	for _, c := range in.Channels {
		if slices.Contains(c.Filters, BuildID) {
			return Filters{BuildID}
		}
	}
	return nil
}

// An idBuilder renders the id of a connection, once and when it is asked for.
type idBuilder struct {
	to       *Subscriber
	id       []byte
	rendered bool
}

// append appends what %I or %(id)I stands for.
func (b *idBuilder) append(dst []byte, d directive) ([]byte, error) {
	if d.verb != 'I' {
		return dst, fmt.Errorf(`%s is not %%I or %%(id)I; a "%%" is written %%%%`, d)
	}
	id := []byte(d.arg)
	if !d.hasArg {
		if err := b.render(); err != nil {
			return dst, err
		}
		id = b.id
	}
	switch coding := b.to.Meta.Get("id_encoding"); coding {
	case "":
		return append(dst, id...), nil
	case "hex":
		return hex.AppendEncode(dst, id), nil
	default:
		return dst, fmt.Errorf("id_encoding is %.64q, want hex", coding)
	}
}

func (b *idBuilder) render() (err error) {
	if b.rendered {
		return nil
	}
	format, ok := b.to.Meta.Lookup("id_format")
	if !ok {
		return errors.New("the connection has no id_format in its metadata")
	}
	b.id, err = appendFormat(nil, format, func(dst []byte, d directive) ([]byte, error) {
		id, _ := b.to.prevID(d.arg)
		if d.verb != 's' || id == "" {
			return dst, fmt.Errorf("%s in id_format is no channel with an id", d)
		}
		return append(dst, id...), nil
	})
	b.rendered = err == nil
	return err
}

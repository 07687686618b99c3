// SPDX-License-Identifier: MIT

package grip

import (
	"encoding/binary"
	"errors"
)

// The encoding of an item between the processes of one service. Lengths and
// counts are varints in their shortest form; every item has one encoding.
//
//	item     = version flags text(channel) text(id) text(prev-id) pairs(meta)
//	           [stream] [response] [message]
//	stream   = action filters text(content)
//	response = action filters varint(code) text(reason) pairs(fields) text(body)
//	message  = action filters type varint(code) text(reason) text(content)
//	pairs    = varint(count) count*( text text )
//	text     = varint(length) bytes
//	filters  = byte: 0 not said, else 1 + count, then a byte for each
const itemVersion = 1

const (
	flagNoSeq = 1 << iota
	flagStream
	flagResponse
	flagMessage
	flagsAll = 1<<iota - 1
)

var errItem = errors.New("grip: not an encoded item")

// AppendItem appends the encoding of it to dst. At most MaxFilters filters are
// in a format, as ParseItems sees to.
func AppendItem(dst []byte, it *Item) []byte {
	dst = append(dst, itemVersion, itemFlags(it))
	dst = appendText(dst, it.Channel)
	dst = appendText(dst, it.ID)
	dst = appendText(dst, it.PrevID)
	dst = appendPairs(dst, it.Meta)
	if s := it.Stream; s != nil {
		dst = appendFilters(append(dst, byte(s.Action)), s.Filters)
		dst = appendText(dst, s.Content)
	}
	if r := it.Response; r != nil {
		dst = appendFilters(append(dst, byte(r.Action)), r.Filters)
		dst = binary.AppendUvarint(dst, uint64(r.Code))
		dst = appendText(dst, r.Reason)
		dst = appendPairs(dst, r.Fields)
		dst = appendText(dst, r.Body)
	}
	if m := it.Message; m != nil {
		dst = appendFilters(append(dst, byte(m.Action)), m.Filters)
		dst = binary.AppendUvarint(append(dst, byte(m.Type)), uint64(m.Code))
		dst = appendText(dst, m.Reason)
		dst = appendText(dst, m.Content)
	}
	return dst
}

func itemFlags(it *Item) (flags byte) {
	if it.NoSeq {
		flags |= flagNoSeq
	}
	if it.Stream != nil {
		flags |= flagStream
	}
	if it.Response != nil {
		flags |= flagResponse
	}
	if it.Message != nil {
		flags |= flagMessage
	}
	return flags
}

func appendText[T string | []byte](dst []byte, s T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendPairs(dst []byte, pairs []Pair) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(pairs)))
	for _, p := range pairs {
		dst = appendText(appendText(dst, p.Name), p.Value)
	}
	return dst
}

func appendFilters(dst []byte, filters Filters) []byte {
	if filters == nil {
		return append(dst, 0)
	}
	dst = append(dst, byte(1+len(filters)))
	for _, f := range filters {
		dst = append(dst, byte(f))
	}
	return dst
}

// ParseItem reads an encoded item; every byte of b has to belong to it. Content
// and bodies are parts of b.
func ParseItem(b []byte) (Item, error) {
	c := cursor{rest: b}
	if c.byte(itemVersion) != itemVersion {
		return Item{}, errItem
	}
	flags := c.byte(flagsAll)
	it := Item{
		Channel: c.string(), ID: c.string(), PrevID: c.string(),
		NoSeq: flags&flagNoSeq != 0, Meta: c.pairs(),
	}
	if flags&flagStream != 0 {
		it.Stream = &Stream{Action: c.action(), Filters: c.filters(), Content: c.text()}
	}
	if flags&flagResponse != 0 {
		it.Response = &Response{
			Action: c.action(), Filters: c.filters(),
			Code: c.whole(999), Reason: c.string(), Fields: c.pairs(), Body: c.text(),
		}
	}
	if flags&flagMessage != 0 {
		it.Message = &Message{
			Action: c.action(), Filters: c.filters(),
			Type: MessageType(c.byte(byte(Pong))), Code: c.whole(4999),
			Reason: c.string(), Content: c.text(),
		}
	}
	if c.bad || len(c.rest) != 0 {
		return Item{}, errItem
	}
	return it, nil
}

// A cursor reads an encoding from its start; once bad, what it reads is empty.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) fail() { c.bad, c.rest = true, nil }

// byte reads one of at most most.
func (c *cursor) byte(most byte) byte {
	if len(c.rest) == 0 || c.rest[0] > most {
		c.fail()
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

// whole reads a number of at most most.
func (c *cursor) whole(most int) int {
	n, size := binary.Uvarint(c.rest)
	if size <= 0 || n > uint64(most) || size > 1 && c.rest[size-1] == 0 {
		c.fail()
		return 0
	}
	c.rest = c.rest[size:]
	return int(n)
}

func (c *cursor) text() []byte {
	n := c.whole(len(c.rest))
	if n > len(c.rest) {
		c.fail()
		return nil
	}
	text := c.rest[:n:n]
	c.rest = c.rest[n:]
	return text
}

func (c *cursor) string() string { return string(c.text()) }

func (c *cursor) pairs() []Pair {
	n := c.whole(len(c.rest) / 2) // the least that a pair takes
	if n == 0 {
		return nil
	}
	pairs := make([]Pair, n)
	for i := range pairs {
		pairs[i] = Pair{c.string(), c.string()}
	}
	return pairs
}

func (c *cursor) action() Action { return Action(c.byte(byte(Refresh))) }

func (c *cursor) filters() Filters {
	n := c.byte(1 + MaxFilters)
	if n == 0 {
		return nil
	}
	filters := make(Filters, n-1)
	for i := range filters {
		if filters[i] = Filter(c.byte(byte(VarSubst))); !filters[i].valid() {
			c.fail()
		}
	}
	return filters
}

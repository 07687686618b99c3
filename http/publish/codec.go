// SPDX-License-Identifier: MIT

package publish

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"m0serve.dev/http/bus"
)

// The format; see the package comment.
const (
	magic      = "m0p1"
	headSize   = len(magic) + 4
	countSize  = 2
	fixedSize  = 1 + 3*2 + 4 // of a message
	formEvent  = 0           // a message is an event; other forms are to come
	payloadMax = bus.MaxBody + 64<<10
	batchMax   = 1024 // messages of a request
	reasonMax  = 500  // bytes of a refusal
)

const (
	answerMessages = 0
	answerOver     = 1
)

// errGarbage is what all bytes that are no request have in common.
var errGarbage = errors.New("publish: not a request of m0pub")

// A message is one event that somebody wants to publish.
type message struct {
	channel string
	event   string
	id      string // what clients keep; "": the id of the frame
	data    string
}

// parseHead reads the length of the payload behind a head.
func parseHead(head []byte) (int, error) {
	if string(head[:len(magic)]) != magic {
		return 0, errGarbage
	}
	n := binary.BigEndian.Uint32(head[len(magic):])
	if n > payloadMax {
		return 0, fmt.Errorf("publish: a request of %d bytes, at most %d", n, payloadMax)
	}
	return int(n), nil
}

// parsePayload reads the messages of a request. Every byte has to belong to one.
func parsePayload(payload []byte) ([]message, error) {
	if len(payload) < countSize {
		return nil, fmt.Errorf("%w: no count", errGarbage)
	}
	count := int(binary.BigEndian.Uint16(payload))
	if count > batchMax {
		return nil, fmt.Errorf("publish: %d messages in a request, at most %d", count, batchMax)
	}
	rest := string(payload[countSize:]) // texts are parts of this one copy
	messages := make([]message, 0, min(count, len(rest)/fixedSize))
	for range count {
		m, n, err := parseMessage(rest)
		if err != nil {
			return nil, err
		}
		messages, rest = append(messages, m), rest[n:]
	}
	if rest != "" {
		return nil, fmt.Errorf("%w: %d bytes behind the last message", errGarbage, len(rest))
	}
	return messages, nil
}

func parseMessage(s string) (m message, n int, err error) {
	if len(s) < fixedSize {
		return m, 0, fmt.Errorf("%w: a message ends early", errGarbage)
	}
	if s[0] != formEvent {
		return m, 0, fmt.Errorf("publish: form %d of a message is not known to this server", s[0])
	}
	head, rest := []byte(s[1:fixedSize]), s[fixedSize:]
	sizes := [...]uint64{
		uint64(binary.BigEndian.Uint16(head)),
		uint64(binary.BigEndian.Uint16(head[2:])),
		uint64(binary.BigEndian.Uint16(head[4:])),
		uint64(binary.BigEndian.Uint32(head[6:])),
	}
	for i, field := range []*string{&m.channel, &m.event, &m.id, &m.data} {
		if sizes[i] > uint64(len(rest)) {
			return m, 0, fmt.Errorf("%w: a message ends early", errGarbage)
		}
		*field, rest = rest[:sizes[i]], rest[sizes[i]:]
	}
	return m, len(s) - len(rest), nil
}

// An outcome is what became of one message.
type outcome struct {
	id  uint64
	err error // nil: published under id
}

// appendAnswer is the answer to a request.
func appendAnswer(dst []byte, outcomes []outcome) []byte {
	at := len(dst)
	dst = append(dst, magic+"\x00\x00\x00\x00"...)
	dst = append(dst, answerMessages)
	for _, o := range outcomes {
		refused, reason := byte(0), ""
		if o.err != nil {
			refused, reason = 1, clip(o.err.Error())
		}
		dst = append(dst, refused)
		dst = binary.BigEndian.AppendUint64(dst, o.id)
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(reason)))
		dst = append(dst, reason...)
	}
	return sealLength(dst, at)
}

// appendOver is the answer that ends a connection.
func appendOver(dst []byte, cause error) []byte {
	at := len(dst)
	dst = append(dst, magic+"\x00\x00\x00\x00"...)
	dst = append(dst, answerOver)
	dst = append(dst, clip(cause.Error())...)
	return sealLength(dst, at)
}

// sealLength writes the length of what follows the head at at.
func sealLength(dst []byte, at int) []byte {
	n := len(dst) - at - headSize
	if uint64(n) > math.MaxUint32 {
		panic("publish: an answer is longer than its length can say")
	}
	binary.BigEndian.PutUint32(dst[at+len(magic):], uint32(n))
	return dst
}

func clip(s string) string { return s[:min(len(s), reasonMax)] }

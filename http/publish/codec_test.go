// SPDX-License-Identifier: MIT

package publish

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

// appendRequest is what a publisher sends; as m0pub makes it.
func appendRequest(dst []byte, messages ...message) []byte {
	at := len(dst)
	dst = append(dst, magic+"\x00\x00\x00\x00"...)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(messages)))
	for _, m := range messages {
		dst = append(dst, formEvent)
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.channel)))
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.event)))
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.id)))
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(m.data)))
		dst = append(dst, m.channel...)
		dst = append(dst, m.event...)
		dst = append(dst, m.id...)
		dst = append(dst, m.data...)
	}
	return sealLength(dst, at)
}

func TestRequestRoundTrip(t *testing.T) {
	for _, want := range [][]message{
		{},
		{{channel: "c", data: "hello"}},
		{{channel: "ä", event: "e", id: "7", data: "a\nb\x00"}, {}, {channel: "last"}},
		{{channel: strings.Repeat("c", 65535), data: strings.Repeat("x", 100_000)}},
	} {
		raw := appendRequest(nil, want...)
		size, err := parseHead(raw[:headSize])
		if err != nil || size != len(raw)-headSize {
			t.Errorf("parseHead = %d, %v; want %d", size, err, len(raw)-headSize)
		}
		got, err := parsePayload(raw[headSize:])
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("parsePayload = %.80v, %v; want %.80v", got, err, want)
		}
		for n := range raw[headSize:] {
			if n > 200 {
				break
			}
			if _, err := parsePayload(raw[headSize : headSize+n]); !errors.Is(err, errGarbage) {
				t.Errorf("parsePayload of %d bytes = %v, want garbage: it was cut", n, err)
			}
		}
	}
}

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	form := appendRequest(nil, message{channel: "c"})
	form[headSize+countSize] = 1
	for name, c := range map[string]struct {
		payload []byte
		want    string
	}{
		"bytes behind": {append(appendRequest(nil, message{})[headSize:], 0), "1 bytes behind"},
		"many":         {[]byte{0xff, 0xff}, "65535 messages in a request, at most 1024"},
		"another form": {form[headSize:], "form 1 of a message is not known"},
		"a length too far": {[]byte("\x00\x01" + strings.Repeat("\x00", 7) + "\xff\xff\xff\xff"),
			"ends early"},
	} {
		if _, err := parsePayload(c.payload); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: parsePayload = %v, want %q", name, err, c.want)
		}
	}
	if _, err := parseHead([]byte("GET / HT")); !errors.Is(err, errGarbage) {
		t.Errorf("parseHead of HTTP = %v, want garbage", err)
	}
	large := binary.BigEndian.AppendUint32([]byte(magic), payloadMax+1)
	if _, err := parseHead(large); err == nil || !strings.Contains(err.Error(), "at most 4259840") {
		t.Errorf("parseHead of a payload above the limit = %v, want the limit", err)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(appendRequest(nil))
	f.Add(appendRequest(nil, message{channel: "c", event: "e", id: "1", data: "x"}, message{}))
	f.Add([]byte(magic + "\x00\x00\x00\x02\xff\xff"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) < headSize {
			return
		}
		size, err := parseHead(raw[:headSize])
		if err != nil || size > len(raw)-headSize {
			return
		}
		payload := raw[headSize : headSize+size]
		messages, err := parsePayload(payload)
		if err != nil {
			return
		}
		if len(messages) > batchMax {
			t.Errorf("%d messages were taken, at most %d", len(messages), batchMax)
		}
		if again := appendRequest(nil, messages...); !bytes.Equal(again[headSize:], payload) {
			t.Errorf("%q was read as %v, which is written %q", payload, messages, again[headSize:])
		}
	})
}

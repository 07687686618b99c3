// SPDX-License-Identifier: MIT

package ws_test

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"m0serve.dev/http/ws"
	"m0serve.dev/http/ws/internal/inflate"
)

// A squeezer compresses as a client does.
type squeezer struct {
	keeps bool // messages refer to earlier ones
	out   bytes.Buffer
	w     *flate.Writer
}

func newSqueezer(t testing.TB, level int, keeps bool) *squeezer {
	t.Helper()
	s := &squeezer{keeps: keeps}
	w, err := flate.NewWriter(&s.out, level)
	if err != nil {
		t.Fatal(err)
	}
	s.w = w
	return s
}

const tail = "\x00\x00\xff\xff"

// squeeze is the payload of a compressed message.
func (s *squeezer) squeeze(data []byte) []byte {
	if !s.keeps {
		s.w.Reset(&s.out)
	}
	s.out.Reset()
	_, _ = s.w.Write(data) // a buffer takes everything
	_ = s.w.Flush()
	return bytes.TrimSuffix(bytes.Clone(s.out.Bytes()), []byte(tail))
}

// squeezed is the same for one message.
func squeezed(t testing.TB, data string) []byte {
	return newSqueezer(t, 6, false).squeeze([]byte(data))
}

// dialWith opens a socket with offers, which have to be answered so.
func dialWith(t testing.TB, addr, offers, want string) *peer {
	t.Helper()
	p := dialRaw(t, addr, "/", "Sec-WebSocket-Extensions: "+offers+"\r\n")
	res := p.response()
	got := strings.Join(res.Header["Sec-Websocket-Extensions"], ",")
	if res.StatusCode != http.StatusSwitchingProtocols || got != want {
		t.Fatalf("offers %q: %d, %q; want 101 and %q", offers, res.StatusCode, got, want)
	}
	return p
}

// plain is a frame of the server, inflated where it is compressed, by a client that
// remembers no more than its window.
func plain(g got, window int) (got, error) {
	if g.first&0x40 == 0 {
		return g, nil
	}
	var z inflate.Inflater
	var all, last []byte
	for _, one := range append(bytes.Clone(g.payload), tail...) {
		before := len(last)
		var err error
		if last, err = z.Append(last, []byte{one}, 1<<30); err != nil {
			return g, err
		}
		all = append(all, last[before:]...)
		last = last[max(0, len(last)-window):]
	}
	if !z.IsBetween() {
		return g, io.ErrUnexpectedEOF
	}
	return got{g.first &^ 0x40, all}, nil
}

// payloads are what messages may be, by name: the kinds of Autobahn's group 12.
func payloads() map[string][]byte {
	random := rand.New(rand.NewPCG(3, 4))
	record := func(i int) string {
		return fmt.Sprintf(`{"id":%d,"name":"user %d","tags":["a","b"],"at":%d},`,
			i, i%7, random.IntN(1e9))
	}
	var json strings.Builder
	for i := 0; json.Len() < 130_000; i++ {
		json.WriteString(record(i))
	}
	noise := make([]byte, 130_000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	prose := strings.Repeat("Wenn der Käse schläft, träumt die Löffelente von Öl. 日本語🙂 ", 2000)
	return map[string][]byte{"json": []byte(json.String()), "noise": noise, "prose": []byte(prose),
		"zeros": make([]byte, 130_000)}
}

// TestDeflateSuite goes through what Autobahn's groups 12 and 13 do: messages of all
// kinds and lengths, whole and in fragments, under every way of agreeing.
func TestDeflateSuite(t *testing.T) {
	keeps := &ws.Options{Compression: &ws.Compression{ClientContext: true}, QueueBytes: 8 << 20}
	all, sizes := payloads(), []int{0, 1, 127, 128, 1000, 40_000, 66_000, 130_000}
	if racing || testing.Short() {
		sizes = []int{0, 1, 128, 1000, 40_000}
	}
	everywhere(t, echo(keeps), func(t *testing.T, addr string) {
		for _, tc := range []struct {
			offers, more string
			window       int
			keeps        bool
		}{
			{"", "", 15, true},
			{"; client_no_context_takeover", "; client_no_context_takeover", 15, false},
			{"; client_max_window_bits", "", 15, true},
			{"; server_no_context_takeover", "", 15, true},
			{"; server_max_window_bits=8", "; server_max_window_bits=8", 8, true},
			{"; server_max_window_bits=9; client_no_context_takeover",
				"; client_no_context_takeover; server_max_window_bits=9", 9, false},
			{"; server_max_window_bits=15; client_max_window_bits=15",
				"; server_max_window_bits=15", 15, true},
		} {
			p := dialWith(t, addr, "permessage-deflate"+tc.offers,
				"permessage-deflate; server_no_context_takeover"+tc.more)
			s := newSqueezer(t, 1+len(tc.offers)%9, tc.keeps)
			for kind, data := range all {
				for i, n := range sizes {
					first := byte(0x81)
					if kind == "noise" || kind == "zeros" {
						first = 0x82
					}
					message := wholeText(data[:min(n, len(data))])
					sendSqueezed(p, first, s.squeeze(message), i)
					what := fmt.Sprintf("%q, %s, %d bytes", tc.offers, kind, len(message))
					wantPlain(t, p, what, got{first, message}, 1<<tc.window)
				}
			}
			_ = p.Close()
		}
	})
}

// wholeText cuts b where a character ends.
func wholeText(b []byte) []byte {
	for n := 1; n <= min(4, len(b)); n++ {
		if r, size := utf8.DecodeRune(b[len(b)-n:]); size == n && r != utf8.RuneError {
			return b[:len(b)-n+size]
		} else if b[len(b)-n] >= 0xc0 {
			return b[:len(b)-n]
		}
	}
	return b
}

// sendSqueezed sends a compressed message in one frame or several, with a ping in
// between.
func sendSqueezed(p *peer, first byte, data []byte, fragments int) {
	p.t.Helper()
	first |= 0x40
	for ; fragments > 0 && len(data) > 0; fragments-- {
		n := max(1, len(data)/(fragments+1))
		p.raw(join(frame(first&0x7f, data[:n]), frame(0x8a, nil)))
		first, data = 0x80, data[n:]
	}
	p.raw(frame(first, data))
}

func wantPlain(t *testing.T, p *peer, what string, want got, window int) {
	t.Helper()
	g, err := p.read()
	if err != nil {
		t.Fatalf("%s: read = %v", what, err)
	}
	in, err := plain(g, window)
	if err != nil || in.first != want.first || !bytes.Equal(in.payload, want.payload) {
		t.Fatalf("%s: got %v, %v; want %v", what, in, err, want)
	}
	if g.first&0x40 != 0 && len(g.payload) >= len(want.payload) {
		t.Fatalf("%s: compressed to %d bytes", what, len(g.payload))
	}
}

// TestDeflateRules: where compression is not what was agreed on, or the data is none,
// or its text is none, the connection ends at the byte that shows it.
func TestDeflateRules(t *testing.T) {
	hello := "\xf2\x48\xcd\xc9\xc9\x07\x00" // RFC 7692, section 7.2.3.1
	bad := squeezed(t, strings.Repeat("good ", 100)+"\xff"+strings.Repeat(" good", 100))
	cases := []wireCase{
		{id: "hello", send: txt(0xc1, hello), want: []got{text("Hello")}},
		{id: "hello in two", send: join(txt(0x41, hello[:3]), txt(0x80, hello[3:])),
			want: []got{text("Hello")}},
		{id: "stored", send: txt(0xc1, "\x00\x05\x00\xfa\xffHello\x00"), want: []got{text("Hello")}},
		{id: "final", send: txt(0xc1, "\xf3\x48\xcd\xc9\xc9\x07\x00\x00"), want: []got{text("Hello")}},
		{id: "two blocks", send: txt(0xc1, "\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"),
			want: []got{text("Hello")}},
		{id: "empty", send: txt(0xc1, "\x00"), want: []got{text("")}},
		{id: "nothing", send: txt(0xc2, ""), want: []got{binary2("")}},
		{id: "plain between", send: join(txt(0xc1, hello), txt(0x81, "plain"), txt(0xc1, hello)),
			want: []got{text("Hello"), text("plain"), text("Hello")}},
		{id: "a ping inside", send: join(txt(0x41, hello[:3]), txt(0x89, "p"), txt(0x80, hello[3:])),
			want: []got{pong("p"), text("Hello")}},
		{id: "an empty last fragment", send: join(txt(0x41, hello), txt(0x80, "")),
			want: []got{text("Hello")}},
		{id: "a marked continuation", send: join(txt(0x41, hello[:3]), txt(0xc0, hello[3:])), end: 1002},
		{id: "a continuation alone marked", send: join(txt(0x01, "x"), txt(0xc0, hello)), end: 1002},
		{id: "a marked ping", send: txt(0xc9, ""), end: 1002},
		{id: "a marked close", send: txt(0xc8, ""), end: 1002},
		{id: "RSV2", send: txt(0xa1, hello), end: 1002},
		{id: "RSV1 and RSV3", send: txt(0xd1, hello), end: 1002},
		{id: "a reserved block", send: txt(0x41, "\x07"), end: 1007},
		{id: "a length without its check", send: txt(0x41, "\x00\x05\x00\xfa\xfe"), end: 1007},
		{id: "an earlier message", send: join(txt(0xc1, hello), txt(0xc1, "\xf2\x00\x11\x00\x00")),
			want: []got{text("Hello")}, end: 1007},
		{id: "an unfinished block", send: txt(0xc1, hello[:4]), end: 1007},
		{id: "bad text", send: frame(0xc1, bad), end: 1007},
		{id: "bad text that goes on", end: 1007,
			send: frameWith(0x41, []byte{0xfe, 0x7f, 0xff}, bad[:len(bad)-3])},
		{id: "text that stops early", send: frame(0xc1, squeezed(t, "€"[:2])), end: 1007},
		{id: "bad as binary", send: frame(0xc2, squeezed(t, "\xff")), want: []got{binary2("\xff")}},
	}
	o := &ws.Options{Compression: &ws.Compression{}}
	everywhere(t, echo(o), func(t *testing.T, addr string) {
		for _, c := range cases {
			for _, piece := range []int{len(c.send), 1} {
				p := dialWith(t, addr, offered, yes)
				runCaseOn(t, p, c, fmt.Sprintf("pieces of %d", piece), piece)
				if t.Failed() {
					return // one that waits in vain waits long
				}
			}
		}
		runCase(t, addr, wireCase{id: "without an agreement", send: txt(0xc1, hello), end: 1002},
			"whole", 99)
	})
}

// TestBombEndsEarly: what inflates beyond the bound of a message ends in 1009 while it
// arrives, and its memory goes with it.
func TestBombEndsEarly(t *testing.T) {
	const most = 1 << 20
	bomb := squeezed(t, strings.Repeat("\x00", 8<<20))
	o := &ws.Options{MessageBytes: most, Compression: &ws.Compression{}}
	c, held := parkedWith(ws.Handler{Message: func(*ws.Conn, ws.Op, []byte) {
		t.Error("a bomb was delivered")
	}}, o, offered)
	before := heap()
	for input := frame(0xc2, bomb); len(input) > 0 && len(held.ending) == 0; {
		n := min(256, len(input))
		c.Received(input[:n])
		input = input[n:]
	}
	answer := take(c)
	if !bytes.HasPrefix(answer, append([]byte{0x88, 20}, closePayload(1009, "")...)) {
		t.Errorf("answer %q, want a close with 1009", answer)
	}
	if after := heap(); int64(after)-int64(before) > most {
		t.Errorf("a bomb has left %d bytes", after-before)
	}
	c.Received([]byte("x"))
	everywhere(t, echo(o), func(t *testing.T, addr string) {
		p := dialWith(t, addr, offered, yes)
		whole := squeezed(t, strings.Repeat("\x00", most))
		p.raw(frame(0xc2, whole))
		wantPlain(t, p, "the longest message", got{0x82, make([]byte, most)}, 1<<15)
		p.raw(frame(0xc2, squeezed(t, strings.Repeat("\x00", most+1))))
		wantClose(t, p, "a byte more", 1009)
	})
}

// TestWhatIsNotWorthItIsSentPlain: short messages, noise, and those for clients that
// did not offer.
func TestWhatIsNotWorthItIsSentPlain(t *testing.T) {
	all := payloads()
	o := &ws.Options{Compression: &ws.Compression{LeastBytes: 50}}
	for _, tc := range []struct {
		what, offers string
		data         []byte
		squeezed     bool
	}{
		{"long", offered, all["json"][:1000], true},
		{"at the border", offered, all["zeros"][:50], true},
		{"short", offered, all["zeros"][:49], false},
		{"noise", offered, all["noise"][:1000], false},
		{"not offered", "", all["json"][:1000], false},
	} {
		shared, err := ws.NewMessage(ws.OpBinary, tc.data)
		if err != nil {
			t.Fatal(err)
		}
		for how, send := range map[string]func(*ws.Conn) error{
			"Send":        func(c *ws.Conn) error { return c.Send(ws.OpBinary, tc.data) },
			"SendMessage": func(c *ws.Conn) error { return c.SendMessage(shared) },
		} {
			c, _ := parkedWith(ws.Handler{}, o, tc.offers)
			if err := send(c); err != nil {
				t.Fatal(err)
			}
			if first := take(c)[0]; (first == 0xc2) != tc.squeezed {
				t.Errorf("%s: %s: first byte %#x, compressed should be %v",
					tc.what, how, first, tc.squeezed)
			}
		}
	}
	if st := o.Stats(); st.Deflated != 4 || st.MessagesOut != 10 {
		t.Errorf("Stats() = %d of %d deflated, want 4 of 10", st.Deflated, st.MessagesOut)
	}
}

// TestClientContext: messages may refer to those before, whatever the handler does to
// them, as far back as the window goes; plain ones are not in it.
func TestClientContext(t *testing.T) {
	o := &ws.Options{Compression: &ws.Compression{ClientContext: true}}
	var heard []byte
	c, _ := parkedWith(ws.Handler{Message: func(_ *ws.Conn, _ ws.Op, data []byte) {
		heard = bytes.Clone(data)
		clear(data)
	}}, o, offered)
	s := newSqueezer(t, 9, true)
	noise := payloads()["noise"]
	for i, want := range [][]byte{noise[:30_000], []byte("short"), noise[:30_000], noise[5:9],
		noise[:100_000], noise[70_000:90_000]} {
		packed := s.squeeze(want)
		if again := i == 2 || i == 5; again && len(packed) > len(want)/10 {
			t.Fatalf("message %d does not refer to the one before", i)
		}
		c.Received(join(frame(0xc2, packed)))
		if !bytes.Equal(heard, want) {
			t.Fatalf("message %d: %d bytes came, want the %d that were sent", i, len(heard), len(want))
		}
		c.Received(frame(0x82, []byte("plain")))
	}
	if st := o.Stats(); st.Inflated != 6 || st.MessagesIn != 12 {
		t.Errorf("Stats() = %d of %d inflated, want 6 of 12", st.Inflated, st.MessagesIn)
	}
}

// TestSharedMessageIsCompressedOnce: all who agreed the same get the same bytes, not
// equal ones; who has a smaller window gets its own.
func TestSharedMessageIsCompressedOnce(t *testing.T) {
	data := payloads()["json"][:20_000]
	m, err := ws.NewMessage(ws.OpText, data)
	if err != nil {
		t.Fatal(err)
	}
	var first []byte
	for i := range 3 {
		c, _ := parkedWith(ws.Handler{}, &ws.Options{Compression: &ws.Compression{}}, offered)
		if err := c.SendMessage(m); err != nil {
			t.Fatal(err)
		}
		sent := c.Next()
		if i == 0 {
			first = sent
		}
		if &sent[0] != &first[0] || sent[0] != 0xc1 {
			t.Errorf("connection %d is sent %#x at %p, want compressed bytes at %p",
				i, sent[0], sent, first)
		}
	}
	small, _ := parkedWith(ws.Handler{}, &ws.Options{Compression: &ws.Compression{}},
		"permessage-deflate; server_max_window_bits=9")
	if err := small.SendMessage(m); err != nil {
		t.Fatal(err)
	}
	if sent := small.Next(); &sent[0] == &first[0] || len(sent) <= len(first) {
		t.Errorf("a small window gets %d bytes, a large one %d", len(sent), len(first))
	}
}

// SPDX-License-Identifier: MIT

package forwarded

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"m0serve.dev/http/wire"
)

// parse makes a request of field lines.
func parse(t testing.TB, lines ...string) *wire.Request {
	t.Helper()
	var p wire.RequestParser
	req := &wire.Request{}
	lines = append(slices.Clip(lines), "\r\n")
	raw := "GET / HTTP/1.1\r\nHost: own\r\n" + strings.Join(lines, "\r\n")
	if n, err := p.Parse([]byte(raw), req); err != nil || n != len(raw) {
		t.Fatalf("Parse(%q) = %d, %v", raw, n, err)
	}
	return req
}

func filter(t testing.TB, cfg Config) *Filter {
	t.Helper()
	f, err := New(cfg)
	if err != nil {
		t.Fatalf("New(%+v): %v", cfg, err)
	}
	return f
}

// names are the fields that are left, but for Host.
func names(req *wire.Request) string {
	var all []string
	for _, f := range req.Fields {
		if !wire.EqualFold(f.Name, "host") {
			all = append(all, string(f.Name))
		}
	}
	return strings.Join(all, " ")
}

var (
	near = netip.MustParseAddrPort("127.0.0.1:5000")
	far  = netip.MustParseAddrPort("203.0.113.9:5000")
	unix netip.AddrPort
)

// said is what a result says beyond the peer.
func said(r Result, peer netip.AddrPort) string {
	var parts []string
	if r.Client != peer {
		parts = append(parts, "for="+r.Client.String())
	}
	if r.Scheme != "" {
		parts = append(parts, r.Scheme)
	}
	if r.Host != nil {
		parts = append(parts, "host="+string(r.Host))
	}
	if r.Port != 0 {
		parts = append(parts, fmt.Sprint("port=", r.Port))
	}
	if r.Prefix != nil {
		parts = append(parts, "prefix="+string(r.Prefix))
	}
	return strings.Join(parts, " ")
}

func TestOnlyTrustedPeersAreBelieved(t *testing.T) {
	lines := []string{"Accept: */*", "X-Forwarded-For: 198.51.100.1", "X-Forwarded-Proto: https",
		"X-Real-IP: 198.51.100.1", "Forwarded: for=198.51.100.1", "X-Forwarded-Ssl: on", "Xylo: 1"}
	const all = "Accept X-Forwarded-For X-Forwarded-Proto X-Real-IP Forwarded X-Forwarded-Ssl Xylo"
	const said1 = "for=198.51.100.1:0 https"
	for _, c := range []struct {
		trust      []string
		nobody     bool
		peer       netip.AddrPort
		want, left string
	}{
		{nil, false, near, said1, all},
		{nil, false, netip.MustParseAddrPort("[::1]:1"), said1, all},
		{nil, false, netip.MustParseAddrPort("[::ffff:127.0.0.1]:1"), said1, all},
		{nil, false, unix, said1, all},
		{nil, false, far, "", "Accept Xylo"},
		{nil, true, near, "", "Accept Xylo"},
		{[]string{}, false, near, "", "Accept Xylo"},
		{[]string{"203.0.113.0/24"}, false, far, said1, all},
		{[]string{"203.0.113.0/24"}, false, near, "", "Accept Xylo"},
		{[]string{"203.0.113.0/24"}, false, unix, "", "Accept Xylo"},
		{[]string{"10.0.0.1, 203.0.113.9"}, false, far, said1, all},
		{[]string{"unix"}, false, unix, said1, all},
		{[]string{"unix"}, false, near, "", "Accept Xylo"},
		{[]string{"*"}, false, far, said1, all},
		{[]string{"*"}, false, unix, said1, all},
		{[]string{"::/0"}, false, far, "", "Accept Xylo"},
		{[]string{"fe80::/10"}, false, netip.MustParseAddrPort("[fe80::1%eth0]:1"), said1, all},
	} {
		f := filter(t, Config{Trust: c.trust, Nobody: c.nobody})
		req := parse(t, lines...)
		r := f.Apply(req, c.peer)
		if got := said(r, c.peer); got != c.want || names(req) != c.left || r.Trusted != (c.want != "") {
			t.Errorf("trust %q, peer %v: %q trusted %v, left %q; want %q, left %q",
				c.trust, c.peer, got, r.Trusted, names(req), c.want, c.left)
		}
		want := Stats{Untrusted: 5}
		if c.want != "" {
			want = Stats{}
		}
		if got := f.Stats(); got != want {
			t.Errorf("trust %q, peer %v: Stats = %+v; want %+v", c.trust, c.peer, got, want)
		}
	}
}

func TestWordsOfTheServerAreTakenOut(t *testing.T) {
	f := filter(t, Config{})
	for _, peer := range []netip.AddrPort{near, far} {
		req := parse(t, "Grip-Hold: stream", "grip-sig: x", "M0-Channel: c", "A: 1", "X_Forwarded_For: 1",
			"Remote_User: root", "Gripe: 2", "M0: 3", "Z: 4")
		if f.Apply(req, peer); names(req) != "A Gripe M0 Z" || req.Underscores {
			t.Errorf("peer %v: left %q, Underscores %v; want A Gripe M0 Z",
				peer, names(req), req.Underscores)
		}
		if len(req.Fields) < cap(req.Fields) {
			if next := req.Fields[:len(req.Fields)+1][len(req.Fields)]; next.Name != nil {
				t.Errorf("behind the fields: %q; want nothing", next.Name)
			}
		}
	}
	if got, want := f.Stats(), (Stats{Underscores: 4, Reserved: 6}); got != want {
		t.Errorf("Stats = %+v; want %+v", got, want)
	}
}

func TestClientIsTheRightmostStranger(t *testing.T) {
	trust := []string{"127.0.0.1", "10.0.0.0/8", "fd00::/8"}
	for _, c := range []struct {
		lines     []string
		want      string
		malformed uint64
	}{
		{[]string{"1.2.3.4"}, "1.2.3.4:0", 0},
		{[]string{"6.6.6.6, 1.2.3.4"}, "1.2.3.4:0", 0},
		{[]string{"6.6.6.6, 1.2.3.4, 10.1.1.1 ,10.2.2.2"}, "1.2.3.4:0", 0},
		{[]string{"6.6.6.6", "1.2.3.4", "10.1.1.1"}, "1.2.3.4:0", 0},
		{[]string{"10.1.1.1, 10.2.2.2"}, "10.1.1.1:0", 0},
		{[]string{"unknown, 10.2.2.2"}, "10.2.2.2:0", 1},
		{[]string{"1.2.3.4, junk"}, "127.0.0.1:5000", 1},
		{[]string{"1.2.3.4, 10.1.1.1, <script>, 10.2.2.2"}, "10.2.2.2:0", 1},
		{[]string{"1.2.3.4,, ,"}, "1.2.3.4:0", 0},
		{[]string{""}, "127.0.0.1:5000", 0},
		{[]string{"1.2.3.4:5678"}, "1.2.3.4:5678", 0},
		{[]string{"[2001:db8::1]:443"}, "[2001:db8::1]:443", 0},
		{[]string{"[2001:db8::1]"}, "[2001:db8::1]:0", 0},
		{[]string{"2001:db8::1"}, "[2001:db8::1]:0", 0},
		{[]string{"2001:db8::1, fd00::1"}, "[2001:db8::1]:0", 0},
		{[]string{"1.2.3.4, ::ffff:10.1.1.1"}, "1.2.3.4:0", 0},
		{[]string{"::ffff:1.2.3.4"}, "1.2.3.4:0", 0},
		{[]string{"1.2.3.4:99999"}, "127.0.0.1:5000", 1},
		{[]string{"1.2.3.4:"}, "1.2.3.4:0", 0},
		{[]string{"[1.2.3.4]"}, "127.0.0.1:5000", 1},
		{[]string{"[::1"}, "127.0.0.1:5000", 1},
		{[]string{"[::1]x"}, "127.0.0.1:5000", 1},
		{[]string{"fe80::1%eth0"}, "127.0.0.1:5000", 1},
		{[]string{"01.2.3.4"}, "127.0.0.1:5000", 1},
		{[]string{strings.Repeat("1", 500)}, "127.0.0.1:5000", 1},
	} {
		f := filter(t, Config{Trust: trust})
		var lines []string
		for _, l := range c.lines {
			lines = append(lines, "X-Forwarded-For: "+l)
		}
		got := f.Apply(parse(t, lines...), near).Client.String()
		if n := f.Stats().Malformed; got != c.want || n != c.malformed {
			t.Errorf("X-Forwarded-For %q: client %s, %d malformed; want %s, %d",
				c.lines, got, n, c.want, c.malformed)
		}
	}
	f := filter(t, Config{Trust: []string{"*"}})
	req := parse(t, "X-Forwarded-For: 6.6.6.6, 1.2.3.4")
	if got := f.Apply(req, far).Client.String(); got != "1.2.3.4:0" {
		t.Errorf("trust *: client %s; want the rightmost, 1.2.3.4:0", got)
	}
}

func TestFieldsOfOneValue(t *testing.T) {
	const every = For | Proto | Host | Port | Prefix
	for _, c := range []struct {
		believe  Set
		line     string // with | between lines, X-Forwarded- before each
		want     string
		left     bool
		repeated uint64
		wrong    uint64
	}{
		{0, "Proto: https", "https", true, 0, 0},
		{0, "Proto: WSS", "https", true, 0, 0},
		{0, "Proto: ws", "http", true, 0, 0},
		{0, "Proto: http", "http", true, 0, 0},
		{0, "Proto: https, http", "", false, 0, 1},
		{0, "Proto: gopher", "", false, 0, 1},
		{0, "Proto: ", "", false, 0, 1},
		{0, "Proto: https|Proto: https", "", false, 2, 0},
		{0, "Host: evil", "", true, 0, 0},
		{0, "Host: a|Host: b", "", false, 2, 0},
		{0, "Prefix: /evil|Port: 1", "", true, 0, 0},
		{every, "Host: a.example:8443", "host=a.example:8443", true, 0, 0},
		{every, "Host: a.example|Port: 8443", "host=a.example port=8443", true, 0, 0},
		{every, "Host: a, b", "", false, 0, 1},
		{every, "Host: a/b", "", false, 0, 1},
		{every, "Host: ", "", false, 0, 1},
		{every, "Port: 0", "", false, 0, 1},
		{every, "Port: 65536", "", false, 0, 1},
		{every, "Port: 44x", "", false, 0, 1},
		{every, "Prefix: /app/", "prefix=/app", true, 0, 0},
		{every, "Prefix: /", "", true, 0, 0},
		{every, "Prefix: app", "", false, 0, 1},
		{every, "Prefix: //evil.example", "", false, 0, 1},
		{every, "Prefix: /a?b", "", false, 0, 1},
		{every, "Prefix: /a/../b", "", false, 0, 1},
		{every, "Prefix: /a b", "", false, 0, 1},
	} {
		f := filter(t, Config{Believe: c.believe})
		lines := strings.Split("X-Forwarded-"+strings.ReplaceAll(c.line, "|", "|X-Forwarded-"), "|")
		req := parse(t, lines...)
		got := said(f.Apply(req, near), near)
		if got != c.want || (names(req) != "") != c.left {
			t.Errorf("%q believing %b: %q, left %q; want %q, left %v",
				c.line, c.believe, got, names(req), c.want, c.left)
		}
		if s := f.Stats(); s != (Stats{Repeated: c.repeated, Malformed: c.wrong}) {
			t.Errorf("%q: Stats = %+v; want %d repeated, %d malformed", c.line, s, c.repeated, c.wrong)
		}
	}
}

func TestRFC7239(t *testing.T) {
	const every = RFC7239 | For | Proto | Host
	for _, c := range []struct {
		believe Set
		lines   []string
		want    string
	}{
		{RFC7239, []string{"for=1.2.3.4;proto=https;by=10.0.0.1"}, "for=1.2.3.4:0 https"},
		{RFC7239, []string{`for=1.2.3.4;by="a,b;c"`}, "for=1.2.3.4:0"},
		{RFC7239, []string{`For="[2001:db8:cafe::17]:4711"`}, "for=[2001:db8:cafe::17]:4711"},
		{RFC7239, []string{`for="1.2.3.4:_port";host=evil`}, "for=1.2.3.4:0"},
		{every, []string{`for=1.2.3.4; host="a.example:8443" ;proto=http`},
			"for=1.2.3.4:0 http host=a.example:8443"},
		{every, []string{`for=1.2.3.4;host="a.\example"`}, "for=1.2.3.4:0 host=a.example"},
		{every, []string{"for=6.6.6.6;proto=https;host=evil, for=1.2.3.4, for=127.0.0.1;proto=http"},
			"for=1.2.3.4:0 http"},
		{every, []string{"for=6.6.6.6", "for=1.2.3.4;proto=https"}, "for=1.2.3.4:0 https"},
		{RFC7239, []string{`for="6.6.6.6, for=1.2.3.4`}, "for=1.2.3.4:0"},
		{RFC7239, []string{`for=6.6.6.6, for="1.2.3.4, "`}, ""},
		{RFC7239, []string{"for=unknown"}, ""},
		{RFC7239, []string{"for=_hidden, for=127.0.0.1"}, "for=127.0.0.1:0"},
		{RFC7239, []string{"for=1.2.3.4;for=6.6.6.6"}, ""},
		{RFC7239, []string{"proto=https"}, "https"},
		{RFC7239, []string{"for"}, ""},
		{RFC7239, []string{`for=""`}, ""},
		{RFC7239, []string{`for="1.2.3.4`}, ""},
		{RFC7239, []string{`for=1.2.3.4;proto=gopher`}, "for=1.2.3.4:0"},
		{RFC7239, []string{`for =1.2.3.4`}, ""},
	} {
		var lines []string
		for _, l := range c.lines {
			lines = append(lines, "Forwarded: "+l)
		}
		f := filter(t, Config{Believe: c.believe})
		if got := said(f.Apply(parse(t, lines...), near), near); got != c.want {
			t.Errorf("Forwarded %q: %q; want %q", c.lines, got, c.want)
		}
	}
}

// A proxy that writes one family lets the other one through.
func TestFamiliesAreNotMixed(t *testing.T) {
	lines := []string{"X-Forwarded-For: 1.1.1.1", "X-Forwarded-Proto: http",
		"Forwarded: for=2.2.2.2;proto=https"}
	for believe, want := range map[Set]string{
		0: "for=1.1.1.1:0 http", RFC7239: "for=2.2.2.2:0 https",
	} {
		f := filter(t, Config{Believe: believe})
		if got := said(f.Apply(parse(t, lines...), near), near); got != want {
			t.Errorf("believing %b: %q; want %q", believe, got, want)
		}
	}
	f := filter(t, Config{Believe: RFC7239})
	if got := said(f.Apply(parse(t, lines[:2]...), near), near); got != "" {
		t.Errorf("believing Forwarded: X-Forwarded-* alone say %q; want nothing", got)
	}
	f = filter(t, Config{})
	if got := said(f.Apply(parse(t, lines[2]), near), near); got != "" {
		t.Errorf("believing X-Forwarded-*: Forwarded alone says %q; want nothing", got)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, item := range []string{
		"localhost", "10.0.0.0/33", "10.0.0", "*.example", "::ffff:10.0.0.0/104",
	} {
		if _, err := New(Config{Trust: []string{"::1", item}}); err == nil ||
			!strings.Contains(err.Error(), item) || !strings.HasPrefix(err.Error(), "forwarded: ") {
			t.Errorf("New with trust %q: %v; want an error that names it", item, err)
		}
	}
}

func TestNothingToDoAllocatesNothing(t *testing.T) {
	f := filter(t, Config{})
	req := parse(t, "Accept: */*", "User-Agent: x", "If-Modified-Since: never", "Connection: close")
	if n := testing.AllocsPerRun(100, func() { f.Apply(req, far) }); n != 0 {
		t.Errorf("Apply of an ordinary request allocates %v times", n)
	}
}

func BenchmarkApply(b *testing.B) {
	f := filter(b, Config{})
	ordinary := []string{"User-Agent: Mozilla/5.0", "Accept: text/html", "Accept-Language: en",
		"Accept-Encoding: gzip, br", "Connection: keep-alive", "Cookie: a=b", "Sec-Fetch-Mode: navigate"}
	for _, c := range []struct {
		name string
		peer netip.AddrPort
		more []string
	}{
		{"nothing", far, nil},
		{"proxy", near, []string{"X-Forwarded-For: 198.51.100.7", "X-Forwarded-Proto: https"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			req := parse(b, append(ordinary, c.more...)...)
			b.ReportAllocs()
			for b.Loop() {
				f.Apply(req, c.peer)
			}
		})
	}
}

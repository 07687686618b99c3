// SPDX-License-Identifier: MIT

package accesslog

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/wire"
)

// exchange is a request of a peer, with an answer of some fields.
func exchange(t testing.TB, peer, head string) *loop.Exchange {
	t.Helper()
	x := &loop.Exchange{}
	var p wire.RequestParser
	raw := []byte(strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n")
	if n, err := p.Parse(raw, x.Request()); n != len(raw) || err != nil {
		t.Fatalf("Parse(%q) = %d, %v", raw, n, err)
	}
	if peer != "" {
		x.SetPeer(netip.MustParseAddrPort(peer))
	}
	if err := x.Field("X-Trace", "tr1"); err != nil {
		t.Fatal(err)
	}
	return x
}

const browser = "GET /a%20b?q=1&r=%22 HTTP/1.1\nHost: h.example\nReferer: https://r.example/\n" +
	"User-Agent: Mozilla/5.0 (X11)\nAuthorization: Basic YW5uOnNlY3JldA=="

// at is a moment whose texts show every digit.
var at = time.Date(2026, 11, 9, 3, 4, 5, 67_890_123, time.FixedZone("", 3600))

// lineOf is the line that a Log with that format writes of a.
func lineOf(t testing.TB, format string, a loop.Answer) string {
	t.Helper()
	atoms, err := compile(format, 4711)
	if err != nil {
		t.Fatalf("compile(%q): %v", format, err)
	}
	var c clock
	c.set(at)
	l := line{answer: &a, clock: &c, pid: 4711}
	return string(l.append(nil, atoms))
}

func TestFormats(t *testing.T) {
	x := exchange(t, "198.51.100.7:4242", browser)
	a := loop.Answer{Exchange: x, Status: 200, Bytes: 5120, Took: 1234567891 * time.Nanosecond}
	const when = "[09/Nov/2026:03:04:05 +0100]"
	for _, c := range []struct{ format, want string }{
		{"common", `198.51.100.7 - ann ` + when + ` "GET /a%20b?q=1&r=%22 HTTP/1.1" 200 5120`},
		{"combined", `198.51.100.7 - ann ` + when + ` "GET /a%20b?q=1&r=%22 HTTP/1.1" 200 5120 ` +
			`"https://r.example/" "Mozilla/5.0 (X11)"`},
		{"%(h)s|%(l)s|%(u)s|%(s)s|%(B)s|%(b)s", "198.51.100.7|-|ann|200|5120|5120"},
		{"%(T)s %(M)s %(D)s %(L)s %(p)s", "1 1234 1234567 1.234567 <4711>"},
		{"%(m)s %(U)s %(q)s %(H)s", "GET /a%20b q=1&r=%22 HTTP/1.1"},
		{"%(f)s %(a)s", "https://r.example/ Mozilla/5.0 (X11)"},
		{"%({User-Agent}i)s %({x-none}i)s", "Mozilla/5.0 (X11) -"},
		{"%({X-Trace}o)s %({etag}o)s %({Content-Length}o)s", "tr1 - 5120"},
		{"%({HTTP_USER_AGENT}e)s %({REQUEST_METHOD}e)s %({RAW_URI}e)s %({REMOTE_PORT}e)s",
			"Mozilla/5.0 (X11) GET /a%20b?q=1&r=%22 4242"},
		{"100%% %(s)d%%", "100% 200%"},
		{"json", `{"time":"2026-11-09T02:04:05.067Z","remote":"198.51.100.7","method":"GET",` +
			`"path":"/a%20b","protocol":"HTTP/1.1","host":"h.example",` +
			`"referer":"https://r.example/","agent":"Mozilla/5.0 (X11)",` +
			`"status":200,"bytes":5120,"seconds":1.234567,"pid":4711}`},
	} {
		if got := lineOf(t, c.format, a); got != c.want {
			t.Errorf("format %q writes\n%s; want\n%s", c.format, got, c.want)
		}
	}
}

func TestWhatIsNotKnown(t *testing.T) {
	refused := loop.Answer{Status: 400}
	plain := loop.Answer{Exchange: exchange(t, "", "HEAD / HTTP/1.0"), Took: 99 * time.Nanosecond}
	for _, c := range []struct {
		format string
		a      loop.Answer
		want   string
	}{
		{"combined", refused, `- - - [09/Nov/2026:03:04:05 +0100] "-" 400 - "-" "-"`},
		{"json", refused, `{"time":"2026-11-09T02:04:05.067Z","status":400,"bytes":0,` +
			`"seconds":0.000000,"pid":4711}`},
		{"%(m)s%(U)s%(q)s%({a}o)s%({REMOTE_PORT}e)s", refused, "-----"},
		{`%(h)s "%(r)s" %(s)s %(b)s %(B)s [%(q)s] "%(a)s" %(D)s`, plain,
			`- "HEAD / HTTP/1.0" 000 - 0 [] "-" 0`},
		{"json", plain, `{"time":"2026-11-09T02:04:05.067Z","remote":"","method":"HEAD","path":"/",` +
			`"protocol":"HTTP/1.0","status":0,"bytes":0,"seconds":0.000000,"pid":4711}`},
	} {
		if got := lineOf(t, c.format, c.a); got != c.want {
			t.Errorf("format %q writes\n%s; want\n%s", c.format, got, c.want)
		}
	}
}

func TestUserNames(t *testing.T) {
	for value, want := range map[string]string{
		"Basic YW5uOnNlY3JldA==":               "ann",
		"bAsIc  YW5uOnNlY3JldA==":              "ann",
		"Basic YW5u":                           "-", // no colon: it may all be secret
		"Basic OnNlY3JldA==":                   "-",
		"Basic !!!!":                           "-",
		"Basic":                                "-",
		"Bearer YW5uOnNlY3JldA==":              "-",
		"Basic YSJiIGMKZDo=":                   `a\"b c\x0ad`,
		"Basic " + strings.Repeat("QUFB", 100): "-",
	} {
		a := loop.Answer{Exchange: exchange(t, "", "GET / HTTP/1.1\nHost: h\nAuthorization: "+value)}
		if got := lineOf(t, "%(u)s", a); got != want {
			t.Errorf("user of %q = %q; want %q", value, got, want)
		}
	}
}

func TestNoRequestWritesALineOfItsOwn(t *testing.T) {
	x := exchange(t, "", "GET / HTTP/1.1\nHost: h")
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	agent := wire.Field{Name: []byte("User-Agent"), Value: every}
	x.Request().Fields = append(x.Request().Fields, agent)
	a := loop.Answer{Exchange: x, Status: 200}
	got := lineOf(t, `"%(a)s"`, a)
	want := `"`
	for _, b := range every {
		switch {
		case b == '"' || b == '\\':
			want += `\` + string(rune(b))
		case b < 0x20 || b > 0x7e:
			want += fmt.Sprintf(`\x%02x`, b)
		default:
			want += string(rune(b))
		}
	}
	if want += `"`; got != want {
		t.Errorf("every byte is written as\n%s; want\n%s", got, want)
	}
	if got := lineOf(t, "json", a); strings.ContainsAny(got, "\n\r") || !json.Valid([]byte(got)) {
		t.Errorf("JSON line %q", got)
	}
}

func TestLongValuesAreCut(t *testing.T) {
	long := strings.Repeat("a", valueMax+1)
	a := loop.Answer{Exchange: exchange(t, "", "GET / HTTP/1.1\nHost: h\nUser-Agent: "+long)}
	if got := lineOf(t, "%(a)s", a); got != long[:valueMax]+cutMark {
		t.Errorf("a long agent is %d bytes ending in %q", len(got), got[len(got)-5:])
	}
	var doc struct{ Agent string }
	err := json.Unmarshal([]byte(lineOf(t, "json", a)), &doc)
	if err != nil || doc.Agent != long[:valueMax]+cutMark {
		t.Errorf("a long agent in JSON is %d bytes, %v", len(doc.Agent), err)
	}
}

func TestFormatsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ format, want string }{
		{"%(x)s", "%(x)s"},
		{"%(h)", "%(h)"},
		{"%(h)f", "%(h)f"},
		{"%h", "%h"},
		{"50%", "%"},
		{"%(h", "%(h"},
		{"%({a b}i)s", "%({a b}i)s"},
		{"%({a}x)s", "%({a}x)s"},
		{"%({a)s", "%({a)s"},
		{"%({wsgi.version}e)s", "%({wsgi.version}e)s"},
	} {
		if err := Check(c.format); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "accesslog: ") {
			t.Errorf("Check(%q) = %v; want an error with %q", c.format, err, c.want)
		}
	}
	for _, good := range []string{"", "json", "common", "combined", "plain text"} {
		if err := Check(good); err != nil {
			t.Errorf("Check(%q) = %v", good, err)
		}
	}
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{
		common, combined, "%(h)", "%%", "%({a}i)s%({b}o)s", "%({HTTP_A}e)s", "%(p)s",
	} {
		f.Add(s)
	}
	x := exchange(f, "198.51.100.7:4242", browser)
	f.Fuzz(func(t *testing.T, format string) {
		atoms, err := compile(format, 1)
		if err != nil {
			return
		}
		var c clock
		c.set(at)
		for _, a := range []loop.Answer{{Exchange: x, Status: 200}, {Status: 400}} {
			l := line{answer: &a, clock: &c}
			if got := l.append(nil, atoms); !strings.Contains(format, "%") && format != "json" &&
				format != "common" && format != "combined" && format != "" && string(got) != format {
				t.Fatalf("format %q writes %q", format, got)
			}
		}
	})
}

// Whatever a value is, it stays inside of its quotes and its line.
func FuzzValues(f *testing.F) {
	f.Add([]byte("a\"b\\\n\x7f\xff"))
	f.Add([]byte("\x1b[2J12345678\"1234567\\"))
	f.Fuzz(func(t *testing.T, value []byte) {
		text := appendText8(nil, value)
		for i := 0; i < len(text); i++ {
			switch c := text[i]; {
			case c < 0x20 || c > 0x7e || c == '"':
				t.Fatalf("appendText8(%q) = %q", value, text)
			case c == '\\':
				i++ // whatever is escaped
			}
		}
		doc := appendJSONValue(nil, value)
		if !json.Valid(doc) {
			t.Fatalf("appendJSONValue(%q) = %q", value, doc)
		}
	})
}

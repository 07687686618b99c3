// SPDX-License-Identifier: MIT

package grip

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"m0serve.dev/http/wire"
)

// instructType is the media type of an answer whose body is an instruct.
const instructType = "application/grip-instruct"

// An instructParser gathers what fields say.
type instructParser struct {
	check Check
	in    *Instruct // nil until a field says something
	short bool      // M0-Channel was there
	seen  []string  // fields that may be there once
}

// field reads one field; those of others are passed over.
func (p *instructParser) field(name, value string) error {
	if !IsField(name) {
		if strings.EqualFold(name, "Content-Type") && isInstruct(value) {
			p.open().JSON = true
		}
		return nil
	}
	value = trim(value)
	var err error
	switch strings.ToLower(name) {
	case "grip-hold", "m0-hold":
		err = p.hold(name, value)
	case "grip-channel":
		err = p.channels(name, value)
	case "m0-channel":
		p.short = true
		err = p.channels(name, value)
	case "grip-timeout":
		err = p.timeout(name, value)
	case "grip-keep-alive":
		err = p.keepAlive(name, value)
	case "grip-set-meta":
		err = p.meta(name, value)
	case "grip-link":
		err = p.links(name, value)
	case "grip-status":
		err = p.status(name, value)
	case "grip-expose-headers":
		err = p.expose(name, value)
	}
	return err
}

func isInstruct(contentType string) bool {
	first, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(trim(first), instructType)
}

// open makes the instruct when it is needed.
func (p *instructParser) open() *Instruct {
	if p.in == nil {
		p.in = new(Instruct)
	}
	return p.in
}

// once refuses a second field of one kind, whichever way it is spelt.
func (p *instructParser) once(name string) error {
	_, kind, _ := strings.Cut(strings.ToLower(name), "-")
	for _, s := range p.seen {
		if s == kind {
			return wrong(name, "", "the field may be there once")
		}
	}
	p.seen = append(p.seen, kind)
	return nil
}

func (p *instructParser) hold(name, value string) error {
	if err := p.once(name); err != nil {
		return err
	}
	in := p.open()
	in.Short = in.Short || name[0]|0x20 == 'm'
	switch value {
	case "stream":
		in.Hold = HoldStream
	case "response":
		in.Hold = HoldResponse
	default:
		return wrong(name, value, "want stream or response")
	}
	return nil
}

func (p *instructParser) channels(name, value string) error {
	in := p.open()
	in.Short = in.Short || p.short
	for more := true; more; {
		var e element
		var err error
		if e, value, more, err = cutElement(value, true); err != nil {
			return wrong(name, e.first, "%w", err)
		}
		c := Channel{Name: e.first}
		for _, param := range e.params {
			switch param.name {
			case "prev-id":
				c.PrevID = param.value
			case "filter":
				f, err := ParseFilter(param.value)
				if err != nil {
					return wrong(name, param.value, "%w", err)
				}
				c.Filters = append(c.Filters, f)
			default:
				return wrong(name, param.name, "a channel takes prev-id and filter")
			}
		}
		if err := in.addChannel(name, c, p.check); err != nil {
			return err
		}
	}
	return nil
}

func (p *instructParser) timeout(name, value string) error {
	err := p.once(name)
	if err == nil {
		p.open().Timeout, err = seconds(name, value, minTimeout)
	}
	return err
}

// seconds reads a number of whole seconds; less than least is least.
func seconds(field, value string, least time.Duration) (time.Duration, error) {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return 0, wrong(field, value, "want whole seconds, 0 to %d", maxSeconds)
	}
	return max(time.Duration(n)*time.Second, least), nil
}

func (p *instructParser) keepAlive(name, value string) error {
	if err := p.once(name); err != nil {
		return err
	}
	e, _, _, err := cutElement(value, false)
	if err != nil {
		return wrong(name, value, "%w", err)
	}
	k := KeepAlive{Timeout: defaultKeepAlive}
	format := "raw"
	for _, param := range e.params {
		switch param.name {
		case "format":
			format = param.value
		case "timeout":
			k.Timeout, err = seconds(name+" timeout", param.value, minKeepAlive)
		case "mode":
			k.Interval, err = parseMode(name+" mode", param.value)
		default:
			return wrong(name, param.name, `it takes format, timeout and mode;`+
				` a ";" in the data is written \x3b with format=cstring`)
		}
		if err != nil {
			return err
		}
	}
	if k.Content, err = keepAliveContent(e.first, format); err != nil {
		return wrong(name, value, "%w", err)
	}
	p.open().KeepAlive = k
	return nil
}

func parseMode(field, value string) (interval bool, err error) {
	switch value {
	case "idle", "":
		return false, nil
	case "interval":
		return true, nil
	}
	return false, wrong(field, value, "want idle or interval")
}

func keepAliveContent(text, format string) ([]byte, error) {
	if text == "" {
		return nil, errors.New("there is nothing to send")
	}
	switch format {
	case "raw", "":
		return []byte(text), nil
	case "cstring":
		return uncstring(text)
	case "base64":
		content, err := decodeBase64(text)
		if err != nil {
			return nil, errors.New("the data is not base64")
		}
		return content, nil
	}
	return nil, errors.New("want format=raw, cstring or base64")
}

// uncstring resolves the escapes \\ \r \n \xHH.
func uncstring(s string) ([]byte, error) {
	out := make([]byte, 0, len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			return append(out, s...), nil
		}
		out, s = append(out, s[:i]...), s[i+1:]
		n := 1
		switch {
		case strings.HasPrefix(s, "\\"):
			out = append(out, '\\')
		case strings.HasPrefix(s, "r"):
			out = append(out, '\r')
		case strings.HasPrefix(s, "n"):
			out = append(out, '\n')
		case strings.HasPrefix(s, "x") && len(s) >= 3:
			b, err := strconv.ParseUint(s[1:3], 16, 8)
			if err != nil {
				return nil, errors.New(`\x wants two hex digits`)
			}
			out, n = append(out, byte(b)), 3
		default:
			return nil, errors.New(`format=cstring knows the escapes \\ \r \n \xHH`)
		}
		s = s[n:]
	}
}

// decodeBase64 reads standard base64, padded or not.
func decodeBase64(s string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

func (p *instructParser) meta(name, value string) error {
	in := p.open()
	for value != "" {
		pair, rest, err := cutParam(value, ",")
		if err != nil {
			return wrong(name, value, "%w", err)
		}
		if pair.name == "" || !pair.hasValue {
			return wrong(name, value, `want name="value", name="value"`)
		}
		if in.Meta = in.Meta.set(pair.name, pair.value); len(in.Meta) > MaxMeta {
			return wrong(name, pair.name, "at most %d names", MaxMeta)
		}
		if rest == "" {
			return nil
		}
		value = rest[1:]
	}
	return wrong(name, "", `want name="value"`)
}

func (p *instructParser) links(name, value string) error {
	for more := true; more; {
		var e element
		var err error
		if e, value, more, err = cutElement(value, true); err == nil {
			err = p.link(name, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// link takes one link; as elsewhere, one without parameters says nothing.
func (p *instructParser) link(name string, e element) error {
	if len(e.params) == 0 {
		return nil
	}
	uri, opened := strings.CutPrefix(e.first, "<")
	uri, closed := strings.CutSuffix(uri, ">")
	if !opened || !closed || uri == "" || !wire.ValidValue(uri) {
		return wrong(name, e.first, "want <uri>; rel=next or <uri>; rel=gone")
	}
	in := p.open()
	link, rel := Link{URI: uri, Timeout: defaultNext}, ""
	for _, param := range e.params {
		switch param.name {
		case "rel":
			rel = param.value
		case "timeout":
			var err error
			if link.Timeout, err = seconds(name+" timeout", param.value, 0); err != nil {
				return err
			}
		}
	}
	switch rel { // other relations are for others
	case "next":
		in.Next = link
	case "gone":
		in.Gone = uri
	}
	return nil
}

func (p *instructParser) status(name, value string) error {
	if err := p.once(name); err != nil {
		return err
	}
	code, reason, _ := strings.Cut(value, " ")
	n, err := strconv.Atoi(code)
	if err != nil || len(code) != 3 || n < 200 || !wire.ValidValue(reason) {
		return wrong(name, value, "want a status from 200 to 999, as in 304 or 304 Not Modified")
	}
	p.open().Status, p.in.Reason = n, trim(reason)
	return nil
}

func (p *instructParser) expose(name, value string) error {
	in := p.open()
	for part := range strings.SplitSeq(value, ",") {
		if part = trim(part); part == "" {
			continue
		}
		if !wire.ValidName(part) {
			return wrong(name, part, "want names of header fields")
		}
		in.Expose = append(in.Expose, part)
	}
	return nil
}

// Exposes tells whether a client sees the field called name.
func (in *Instruct) Exposes(name string) bool {
	if IsField(name) {
		return false
	}
	for _, e := range in.Expose {
		if strings.EqualFold(e, name) {
			return true
		}
	}
	return len(in.Expose) == 0
}

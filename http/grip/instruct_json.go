// SPDX-License-Identifier: MIT

package grip

import (
	"fmt"
	"time"
)

// AddJSON adds what the body of an application/grip-instruct answer says to
// what its fields said: channels are added, the rest replaces what was there.
func (in *Instruct) AddJSON(status int, body []byte, check Check) error {
	switch {
	case status != 200:
		return wrong(instructType, fmt.Sprint(status), "the status has to be 200; "+
			"the client's belongs into response.code")
	case len(body) > MaxInstructBytes:
		return wrong(instructType, "", "%d bytes, at most %d", len(body), MaxInstructBytes)
	}
	d := decoder{}
	top := d.document(body)
	if hold, ok := top.inner("hold"); ok {
		in.addHold(&hold, check)
	}
	in.Response = &Response{Code: 200}
	if r, ok := top.inner("response"); ok {
		in.Response = r.response()
	}
	if d.err != nil {
		return d.err
	}
	return in.finish()
}

// addHold adds the hold of an instruct.
func (in *Instruct) addHold(hold *object, check Check) {
	switch mode := hold.text("mode"); mode {
	case "response", "":
		in.Hold = HoldResponse
	case "stream":
		in.Hold = HoldStream
	default:
		hold.d.fail(hold.name("mode"), mode, "want stream or response")
	}
	if !hold.has("channels") {
		hold.d.fail(hold.name("channels"), "", "want a list of channels")
	}
	for i, raw := range hold.list("channels") {
		path := fmt.Sprintf("%s[%d]", hold.name("channels"), i)
		o := hold.d.object(path, raw)
		c := Channel{Name: o.text("name"), PrevID: o.id("prev-id"), Filters: o.filters("filters")}
		if hold.d.err != nil {
			return
		}
		if hold.d.err = in.addChannel(path, c, check); hold.d.err != nil {
			return
		}
	}
	if hold.has("timeout") {
		in.Timeout = hold.seconds("timeout", minTimeout, minTimeout)
	}
	if k, ok := hold.inner("keep-alive"); ok {
		in.KeepAlive = k.keepAlive()
	}
	for _, p := range hold.pairs("meta", MaxMeta) {
		in.Meta = in.Meta.set(p.Name, p.Value)
	}
}

// seconds reads a time of at least least; other where there is none.
func (o *object) seconds(key string, least, other time.Duration) time.Duration {
	if !o.has(key) {
		return other
	}
	return max(time.Duration(o.whole(key, 0, maxSeconds, 0))*time.Second, least)
}

// keepAlive reads a keep-alive; one without content is none.
func (o *object) keepAlive() (k KeepAlive) {
	var ok bool
	if k.Content, _, ok = o.content("content", "content-bin"); !ok {
		return KeepAlive{}
	}
	k.Timeout = o.seconds("timeout", minKeepAlive, defaultKeepAlive)
	if o.d.err == nil {
		k.Interval, o.d.err = parseMode(o.name("mode"), o.text("mode"))
	}
	return k
}

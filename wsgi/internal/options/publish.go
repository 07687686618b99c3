// SPDX-License-Identifier: MIT

package options

import (
	"errors"

	"m0serve.dev/http/grip"
)

// GripURL is the variable in which an application of GRIP finds where to publish.
const GripURL = "GRIP_URL"

func setPublishKey(o *Options, v string) error {
	key, err := grip.ParseKey(v)
	if err != nil {
		return errors.New("write it as it is, or as base64:KEY")
	}
	o.PublishKey = key
	return nil
}

// finishPublish takes the key of an operator who set GRIP_URL: the application signs
// with that one.
func (p *parser) finishPublish() {
	text, from, ok := p.env.lookup(GripURL)
	if !ok {
		return
	}
	u, err := grip.ParseURL(text)
	if err != nil {
		p.warnGripURL(from, "is not one: it looks like http://127.0.0.1:5561/?iss=m0&key=secret")
		return
	}
	p.o.PublishIssuer = u.Issuer
	switch {
	case p.o.PublishKey == nil && u.Key != nil:
		p.o.PublishKey = u.Key
	case u.Key == nil:
		p.warnGripURL(from, "has no key, so the application cannot publish by it: "+
			"leave it unset, and m0serve sets it")
	}
}

// warnGripURL warns where publishing is to work.
func (p *parser) warnGripURL(from Source, text string) {
	if p.has("publish-http") {
		p.o.warn(from.String() + " " + text)
	}
}

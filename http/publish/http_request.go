// SPDX-License-Identifier: MIT

package publish

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/grip"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
	"m0serve.dev/http/wire"
)

const formType = "application/x-www-form-urlencoded"

// readBody is the whole body of a request, in memory that is good until Serve
// returns.
func readBody(x *loop.Exchange) ([]byte, error) {
	if x.Request().ContentLength > grip.MaxPublishBytes {
		return nil, wire.ErrBodyTooLarge
	}
	body, whole := x.Body()
	var err error
	if !whole {
		body, err = io.ReadAll(io.LimitReader(x, grip.MaxPublishBytes+1))
	}
	if err == nil && len(body) > grip.MaxPublishBytes {
		err = wire.ErrBodyTooLarge
	}
	return body, err
}

// refuseBody is the answer to a body that could not be read. Without a status
// there is nobody to answer.
func refuseBody(err error) reply {
	var refused wire.Error
	switch {
	case errors.Is(err, wire.ErrBodyTooLarge):
		return reply{status: 413, text: fmt.Sprintf(
			"Content too large: at most %d bytes", grip.MaxPublishBytes)}
	case errors.As(err, &refused):
		return reply{status: refused.Status(), text: "Invalid body: " + refused.Text()}
	case errors.Is(err, loop.ErrBodyTimeout):
		return reply{status: 408, text: "Request timeout: the body did not come in time"}
	}
	return reply{}
}

// publish publishes a body, whose form its first byte tells: curl calls everything a
// form.
func (d *HTTPDoor) publish(req *wire.Request, body []byte) reply {
	contentType, _ := req.Field("content-type")
	kind, _, _ := strings.Cut(strings.ToLower(string(contentType)), ";")
	kind = strings.TrimSpace(kind)
	switch {
	case strings.HasPrefix(kind, "multipart/"):
		return reply{status: 415, text: "Unsupported media type: send JSON, or a form as " + formType}
	case kind == formType && !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")):
		return d.publishForm(string(body))
	}
	return d.publishItems(body)
}

func (d *HTTPDoor) publishItems(body []byte) reply {
	items, err := grip.ParseItems(body, bus.CheckName)
	if err != nil {
		return invalid(err)
	}
	r := published()
	for i := range items {
		switch err := Item(d.cfg.Bus, &items[i]); {
		case errors.Is(err, bus.ErrRefused):
			d.stats.dropped.Add(1)
			r.dropped++
		case err != nil: // the rest would overtake it
			return d.failed(err, fmt.Sprintf(", %d of %d items were published", i, len(items)))
		}
		d.stats.items.Add(1)
	}
	return r
}

// publishForm publishes one event, for curl --data.
func (d *HTTPDoor) publishForm(body string) reply {
	channel, e, err := parseForm(body)
	if err != nil {
		return invalid(err)
	}
	r := published()
	r.id, err = event(d.cfg.Bus, channel, e)
	switch {
	case err == nil:
	case errors.Is(err, bus.ErrRefused):
		d.stats.dropped.Add(1)
		r.dropped++
	case errors.Is(err, ErrNobody), errors.Is(err, bus.ErrClosed):
		return d.failed(err, "")
	default:
		return invalid(err)
	}
	d.stats.events.Add(1)
	return r
}

// failed is the answer when nobody takes what is published.
func (d *HTTPDoor) failed(err error, more string) reply {
	d.stats.nobody.Add(1)
	d.complain("a request was not published", err)
	return reply{status: 503, text: "Not published: " + reason(err) + more}
}

// parseForm reads a form of one event.
func parseForm(body string) (channel string, e sse.Event, err error) {
	form, err := url.ParseQuery(body)
	if err != nil {
		return "", e, errors.New("publish: a form that is not valid")
	}
	e.Empty = true
	to := map[string]*string{"channel": &channel, "data": &e.Data, "event": &e.Name, "id": &e.ID}
	for name, values := range form {
		field, known := to[name]
		switch {
		case !known:
			return "", e, fmt.Errorf("publish: a form has the fields channel, data, event and id, "+
				"not %.40q", name)
		case len(values) > 1:
			return "", e, fmt.Errorf("publish: %s stands %d times in the form", name, len(values))
		}
		*field = values[0]
	}
	return channel, e, nil
}

// SPDX-License-Identifier: MIT

package grip_test

import (
	"fmt"
	"log"
	"net/http"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/grip"
)

// An application's answer holds a stream; an item that is published reaches it
// as its filters say.
func Example() {
	answer := http.Header{
		"Grip-Hold":       {"stream"},
		"Grip-Channel":    {"news; prev-id=4; filter=build-id; filter=skip-users"},
		"Grip-Set-Meta":   {`user="ann", id_format="news:%(news)s"`},
		"Grip-Keep-Alive": {`:\n\n; format=cstring; timeout=20`},
		"Grip-Link":       {"</news?recover>; rel=next"},
	}
	in, err := grip.ParseInstruct(pairs(answer), bus.CheckName)
	if err != nil {
		log.Fatal(err) // tells the operator which field is wrong, and what would be right
	}
	fmt.Printf("%v, keep-alive %q every %v\n", in.Hold, in.KeepAlive.Content, in.KeepAlive.Timeout)

	items, err := grip.ParseItems([]byte(`{"items": [{"channel": "news", "id": "5", "prev-id": "4",
		"http-stream": {"content": "id: %I\ndata: 100%%\n\n"}, "meta": {"skip_users": "bob"}}]}`),
		bus.CheckName)
	if err != nil {
		log.Fatal(err)
	}
	for _, it := range items {
		channel := &in.Channels[0]
		if it.PrevID != channel.PrevID {
			continue // something is missing: in.Next says where to ask
		}
		channel.PrevID = it.ID
		to := &grip.Subscriber{Meta: in.Meta, Channels: in.Channels}
		if !channel.Filters.Pass(it.Meta, to) {
			continue
		}
		out, err := channel.Filters.Append(nil, it.Stream.Content, to)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q\n", out)
	}
	// Output:
	// stream, keep-alive ":\n\n" every 20s
	// "id: news:5\ndata: 100%\n\n"
}

// What a server says to an application, and a publisher to a server.
func ExampleSign() {
	u, err := grip.ParseURL("http://127.0.0.1:5561/?iss=realm&key=base64:c2VjcmV0")
	if err != nil {
		log.Fatal(err)
	}
	noon := time.Unix(1_800_000_000, 0)
	token := grip.Sign(grip.Claims{Issuer: u.Issuer, Expires: noon.Add(time.Hour)}, u.Key)
	claims, err := grip.Verify(token, u.Key, noon)
	fmt.Println(claims.Issuer, err)
	_, err = grip.Verify(token, u.Key, noon.Add(time.Hour))
	fmt.Println(err)
	// Output:
	// realm <nil>
	// grip: token refused: it expired at 1800003600, now is 1800003600
}

// pairs goes through the fields of an answer.
func pairs(h http.Header) func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		for name, values := range h {
			for _, value := range values {
				if !yield(name, value) {
					return
				}
			}
		}
	}
}

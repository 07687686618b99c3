// SPDX-License-Identifier: MIT

package wire_test

import (
	"fmt"

	"m0serve.dev/http/wire"
)

// A head that arrives in two pieces, and the chunked body behind it.
func ExampleRequestParser() {
	first := []byte("POST /notes?tag=a HTTP/1.1\r\nHost: example.com\r\nTransfer-Enc")
	second := []byte("oding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")

	var parser wire.RequestParser
	var req wire.Request
	n, err := parser.Parse(first, &req)
	fmt.Println(n, err) // more is wanted

	buf := append(first, second...)
	n, err = parser.Parse(buf, &req)
	fmt.Printf("%s %s ?%s at %s, %v\n", req.Method, req.Path, req.RawQuery, req.Host, err)

	var body wire.Decoder
	if err := body.Start(&req, nil, 1<<20); err != nil {
		fmt.Println(err)
	}
	data, _, err := body.Append(nil, buf[n:])
	fmt.Printf("%q %v %v\n", data, body.Done(), err)
	// Output:
	// 0 <nil>
	// POST /notes ?tag=a at example.com, <nil>
	// "hello" true <nil>
}

// What is refused has a status to answer with.
func ExampleError() {
	var parser wire.RequestParser
	var req wire.Request
	_, err := parser.Parse([]byte("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), &req)
	if refused, ok := err.(wire.Error); ok {
		fmt.Println(refused.Status(), refused.Text())
	}
	// Output: 400 missing, repeated or invalid Host
}

// A value cannot end its line.
func ExampleAppendField() {
	out := wire.AppendStatusLine(nil, 200)
	out, err := wire.AppendField(out, "Location", "/\r\nSet-Cookie: admin=1")
	fmt.Printf("%q\n%v\n", out, err)
	// Output:
	// "HTTP/1.1 200 OK\r\n"
	// wire: control byte in a field value or reason
}

// The client's direction.
func ExampleResponseParser() {
	buf := []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
	var parser wire.ResponseParser
	var resp wire.Response
	n, err := parser.Parse(buf, &resp)
	var body wire.Decoder
	untilClose, err2 := body.StartResponse(&resp, "GET", nil, 0)
	data, _, _ := body.Next(buf[n:])
	fmt.Println(resp.Status, resp.KeepAlive, untilClose, string(data), err, err2)
	// Output: 200 true false hello <nil> <nil>
}

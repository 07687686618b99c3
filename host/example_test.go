// SPDX-License-Identifier: MIT

package host_test

import (
	"io"
	"net/http"

	"m0serve.dev/host"
)

func Example() {
	main := func() { host.Main(host.App{Name: "hello", Handler: newHandler}) }
	_ = main // it serves until the process is told to stop
}

func newHandler(c *host.Context) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello\n")
	}), nil
}

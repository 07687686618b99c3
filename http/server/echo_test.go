// SPDX-License-Identifier: MIT

package server_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"m0serve.dev/http/server"
)

// echoConfig is the server that corpus/http1/README.md describes.
func echoConfig(native bool, handled *atomic.Int64) server.Config {
	cfg := server.Config{
		HeadTimeout: time.Second, BodyTimeout: 3 * time.Second, IdleTimeout: 2 * time.Second,
		MaxBody: 10 << 20, Log: quietLog(),
	}
	if native {
		cfg.Handler = server.HandlerFunc(func(x *server.Exchange) {
			handled.Add(1)
			echoNative(x)
		})
	} else {
		cfg.HTTP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handled.Add(1)
			echoStd(w, r)
		})
	}
	return cfg
}

// echoPath splits "/word/number".
func echoPath(path string) (word string, number int) {
	word, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	number, _ = strconv.Atoi(rest)
	return word, number
}

func echoNative(x *server.Exchange) {
	path := string(x.Request().Path)
	_ = x.Field("X-App", "1")
	_ = x.Field("X-Path", path)
	switch word, n := echoPath(path); {
	case word == "status" && n >= 200:
		x.SetStatus(n)
	case word == "big":
		_, _ = x.Write(make([]byte, n))
	case word == "noread":
	default:
		body, err := io.ReadAll(x)
		if err != nil {
			x.SetStatus(400)
			return
		}
		_, _ = x.Write(body)
	}
}

func echoStd(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-App", "1")
	w.Header().Set("X-Path", r.URL.Path)
	switch word, n := echoPath(r.URL.Path); {
	case word == "status" && n >= 200:
		w.WriteHeader(n)
	case word == "big":
		_, _ = w.Write(make([]byte, n))
	case word == "noread":
	default:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(400)
			return
		}
		_, _ = w.Write(body)
	}
}

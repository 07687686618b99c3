// SPDX-License-Identifier: MIT

package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"m0serve.dev/http/server"
)

func TestFallbackServesTheSameHandlers(t *testing.T) {
	for _, cfg := range []server.Config{
		{HTTP: http.HandlerFunc(echoStd)},
		{Handler: server.HandlerFunc(echoNative)},
	} {
		cfg.NetHTTP = true
		s, addr := start(t, cfg)
		for _, tt := range []struct {
			path, body, want string
			status           int
		}{
			{"/status/201", "", "", 201}, {"/echo", "hello", "hello", 200},
			{"/big/300000", "", string(make([]byte, 300_000)), 200},
		} {
			res, err := http.Post("http://"+addr+tt.path, "text/plain", strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil || string(got) != tt.want || res.StatusCode != tt.status {
				t.Errorf("native=%v %s = %d, %d bytes, %v, want %d, %d bytes", cfg.Handler != nil,
					tt.path, res.StatusCode, len(got), err, tt.status, len(tt.want))
			}
			if got := res.Header.Get("X-Path"); got != tt.path {
				t.Errorf("X-Path = %q, want %q", got, tt.path)
			}
		}
		if got := s.Stats().Requests; got != 3 {
			t.Errorf("Stats.Requests = %d, want 3", got)
		}
		http.DefaultClient.CloseIdleConnections()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown = %v", err)
		}
	}
}

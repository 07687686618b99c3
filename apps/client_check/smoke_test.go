// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"context"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/http/client"
)

var bin string // the binary under test

func TestMain(m *testing.M) { smoketest.Main(m, &bin, main) }

// TestCheck runs the real binary, with one worker and with two, and lets it ask
// itself, several times at once.
func TestCheck(t *testing.T) {
	for _, workers := range []string{"1", "2"} {
		t.Run(workers, func(t *testing.T) {
			p := smoketest.Start(t, bin, "M0_WORKERS="+workers)
			web := client.New(client.Config{})
			defer web.Close()
			ctx, cancel := context.WithTimeout(context.Background(), smoketest.Patience)
			defer cancel()
			type report struct {
				text   string
				status int
				err    error
			}
			reports := make(chan report)
			const times = 3
			for range times {
				go func() {
					resp, err := web.Get(ctx, p.URL+"/check")
					reports <- report{string(resp.Body), resp.Status, err}
				}()
			}
			for range times {
				r := <-reports
				if r.err != nil || r.status != 200 || strings.Count(r.text, "ok   ") != len(checks) {
					t.Errorf("/check: %d, %v\n%s", r.status, r.err, r.text)
				}
			}
		})
	}
}

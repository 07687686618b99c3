// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"m0serve.dev/http/config"
	"m0serve.dev/http/server"
)

// run serves until SIGTERM or SIGINT and returns the exit status. The address
// comes from M0_HOST and M0_PORT; -std serves the http.Handler instead of the
// native one.
func run(args []string, log io.Writer) int {
	flags := flag.NewFlagSet("echo_check", flag.ContinueOnError)
	flags.SetOutput(log)
	std := flags.Bool("std", false, "serve as an http.Handler")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return config.ExitConfig
	}
	settings, err := config.FromEnv()
	if err != nil {
		fmt.Fprintln(log, "echo_check:", err)
		return config.ExitConfig
	}
	if err := serve(settings, limits(*std), log); err != nil {
		fmt.Fprintln(log, "echo_check:", err)
		return 1
	}
	return 0
}

// limits are those the corpora expect: a head within 1 s, a whole request
// within 3 s, 2 s between requests, bodies up to 10 MiB.
func limits(std bool) server.Config {
	cfg := server.Config{
		HeadTimeout: time.Second,
		BodyTimeout: 2 * time.Second,
		IdleTimeout: 2 * time.Second,
		MaxBody:     10 << 20,
	}
	app := new(echo)
	if std {
		cfg.HTTP = app
	} else {
		cfg.Handler = app
	}
	return cfg
}

func serve(settings config.App, cfg server.Config, log io.Writer) error {
	s, err := server.New(cfg)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", net.JoinHostPort(settings.Host, strconv.Itoa(settings.Port)))
	if err != nil {
		return err
	}
	stopped, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	drained := make(chan error, 1)
	go func() {
		<-stopped.Done()
		drained <- s.Shutdown(context.Background())
	}()
	fmt.Fprintf(log, "listening on http://%s\n", ln.Addr())
	if err := s.Serve(ln); !errors.Is(err, server.ErrClosed) {
		return err
	}
	return <-drained
}

// SPDX-License-Identifier: MIT

package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/config"
	"m0serve.dev/http/server"
	"m0serve.dev/http/worker"
)

const workers = 2

// One program is both: started by hand it supervises, started by itself it serves.
// Package host does this, and more.
func Example() {
	main := func() { os.Exit(run()) }
	_ = main
}

func run() int {
	in, err := worker.Adopt()
	if err != nil {
		log.Print(err)
		return config.ExitConfig
	}
	var handed worker.Handed
	var page *bus.Page
	if in != nil {
		err = serve(in)
	} else if page, err = share(&handed); err == nil {
		return worker.Supervise(worker.Config{Workers: workers, Handed: handed, Page: page})
	}
	if err != nil {
		log.Print(err)
		return 1
	}
	return 0
}

// share makes what the workers have in common.
func share(handed *worker.Handed) (page *bus.Page, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		return nil, err
	}
	if handed.Listener, err = worker.ListenerFD(ln); err != nil {
		return nil, err
	}
	places := workers + worker.Spares // a rolling restart has one more for a while
	if page, handed.Page, err = bus.NewPage(places); err != nil {
		return nil, err
	}
	handed.Bus, err = bus.NewChannels(places)
	return page, err
}

// serve is the life of a worker.
func serve(in *worker.Inherited) error {
	stops := worker.ArmStops() // SIGTERM, from the supervisor
	ln, err := in.Listen()
	if err != nil {
		return err
	}
	srv, err := server.New(server.Config{HTTP: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "worker", in.Index) })})
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	if err := in.Ready(); err != nil {
		return err
	}
	select {
	case err = <-served:
		return err
	case <-stops.C:
		err = srv.Shutdown(context.Background())
		return errors.Join(err, ignoreClosed(<-served))
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, server.ErrClosed) {
		return nil
	}
	return err
}

// A worker that has answered enough asks for a successor, and serves until that one is
// ready.
func ExampleRecycler() {
	asked := make(chan struct{})
	recycler := worker.NewRecycler(worker.RecycleConfig{
		Requests: 3,
		Ask:      func() error { close(asked); return nil }, // Inherited.Replace
		Log:      slog.New(slog.DiscardHandler),
	})
	defer recycler.Stop()
	for range 3 {
		recycler.Count()
	}
	<-asked
	fmt.Println("a successor was asked for")
	// Output: a successor was asked for
}

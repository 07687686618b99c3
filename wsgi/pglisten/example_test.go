// SPDX-License-Identifier: MIT

package pglisten_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"m0serve.dev/http/bus"
	"m0serve.dev/wsgi/pglisten"
)

// A worker with a bus listens in a goroutine that lasts as long as the worker.
func ExampleListener() {
	dsn, err := pglisten.ParseDSN("host=/run/postgresql dbname=shop user=shop")
	if err != nil {
		fmt.Println(err) // exit status 78, before anything is bound
		return
	}
	b := bus.Local()
	defer b.Close()
	l := pglisten.New(pglisten.Config{
		DSN:     dsn,
		Log:     slog.New(slog.DiscardHandler),
		Publish: pglisten.ToBus(b),
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Run(ctx)
	}()
	stop() // the worker ends
	<-done
	fmt.Println(dsn, l.Stats().Received)
	// Output: shop@/run/postgresql/.s.PGSQL.5432/shop 0
}

func ExampleParseDSN() {
	_, err := pglisten.ParseDSN("host=db hostaddr=192.0.2.1 password=secret")
	fmt.Println(err, errors.Unwrap(err))
	// Output: pglisten: the DSN has hostaddr, which is not supported here: leave it out <nil>
}

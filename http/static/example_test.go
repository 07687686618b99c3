// SPDX-License-Identifier: MIT

package static_test

import (
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/server"
	"m0serve.dev/http/static"
)

// On the engine, in front of an application.
func ExampleFiles_Serve() {
	files, err := static.Open(static.Config{Route: "/static/", Dir: ".", CacheControl: "max-age=300"})
	if err != nil {
		log.Fatal(err)
	}
	defer files.Close()
	_, err = server.New(server.Config{Handler: loop.HandlerFunc(func(x *loop.Exchange) {
		if !files.Serve(x) {
			_, _ = x.WriteString("the application")
		}
	})})
	if err != nil {
		log.Fatal(err)
	}
}

// In any net/http program. A file that was compressed before lies beside the plain one.
func ExampleFiles_ServeHTTP() {
	dir, err := os.MkdirTemp("", "static")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"app.js": "alert(1)", "app.js.gz": "(gzip)"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	files, err := static.Open(static.Config{Route: "/static/", Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer files.Close()

	for _, path := range []string{"/static/app.js", "/static/none.js"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		files.ServeHTTP(w, r) // http.Handle("/static/", files)
		h := w.Header()
		fmt.Println(strings.TrimSpace(fmt.Sprint(
			w.Code, " ", h.Get("Content-Type"), " ", h.Get("Content-Encoding"))))
	}
	// Output:
	// 200 text/javascript; charset=utf-8 gzip
	// 404 application/problem+json
}

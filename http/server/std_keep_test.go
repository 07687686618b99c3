// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// A keeper is a handler that lets go of nothing it was given, and looks at all of it
// from a goroutine of its own while later requests are served.
type keeper struct {
	ends sync.WaitGroup
	mu   sync.Mutex
	kept []keptRequest
}

type keptRequest struct {
	w      http.ResponseWriter
	r      *http.Request
	header http.Header // of the request
	cookie []string    // a value of it
	answer http.Header
	body   []byte
}

func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
	}
	w.Header().Set("X-Id", r.Header.Get("X-Id"))
	got := keptRequest{w, r, r.Header, r.Header["Cookie"], w.Header(), body}
	fmt.Fprint(w, got.text())
	k.ends.Add(1)
	k.mu.Lock()
	k.kept = append(k.kept, got)
	k.mu.Unlock()
	go func() {
		defer k.ends.Done()
		<-r.Context().Done()
		for want, look := got.text(), 0; look < 10 && got.text() == want; look++ {
			runtime.Gosched() // what differs the test finds, what races the detector
		}
	}()
}

// text is all that a kept request says.
func (k *keptRequest) text() string {
	return fmt.Sprint(k.r.Method, k.r.RequestURI, k.r.URL.Path, k.r.URL.RawQuery, k.r.Host,
		k.r.RemoteAddr, k.header, k.cookie, k.answer, string(k.body))
}

// keptRequestText is the request with that number. All have the same length, so that memory
// used again would fit; every third has more fields than there is room for at once.
func keptRequestText(n int) string {
	id := fmt.Sprintf("%04d", n)
	more := ""
	if n%3 > 0 {
		for i := range 2 + 15*(n%3-1) {
			more += fmt.Sprintf("X-More-%02d: %s\r\n", i, id)
		}
	}
	return "POST /kept/" + id + "?q=" + id + " HTTP/1.1\r\nHost: h" + id + "\r\nX-Id: " + id +
		"\r\nCookie: a=" + id + "\r\nCookie: b=" + id + "\r\n" + more +
		"Content-Length: 4\r\n\r\n" + id
}

func TestHandlersMayKeepWhatTheyWereGiven(t *testing.T) {
	const requests = 60
	k := &keeper{}
	_, addr := stdServer(t, k.ServeHTTP)
	c, r := dial(t, addr)
	var answers []string
	for n := 0; n < requests; n += 2 { // two at a time: the second begins where the first ends
		send(t, c, keptRequestText(n)+keptRequestText(n+1))
		for range 2 {
			_, body := answer(t, r, "POST")
			answers = append(answers, body)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ends.Wait()
	for n := range k.kept {
		got, id := &k.kept[n], fmt.Sprintf("%04d", n)
		if got.text() != answers[n] || strings.Count(answers[n], id) < 8 {
			t.Fatalf("request %d is kept as\n%s\nwhen it was served it was\n%s", n, got.text(), answers[n])
		}
		if cookies := got.header["Cookie"]; len(cookies) != 2 || cookies[1] != "b="+id {
			t.Errorf("request %d: Cookie = %q, want both", n, cookies)
		}
	}
}

func TestWhatIsKeptReachesNoLaterRequest(t *testing.T) {
	type late struct{ write, read error }
	heard := make(chan late, 1)
	var early *keptRequest // the two requests are of one connection, and served in turn
	_, addr := stdServer(t, func(w http.ResponseWriter, r *http.Request) {
		if early == nil {
			early = &keptRequest{w: w, r: r, answer: w.Header()}
			_, _ = io.WriteString(w, "early")
			return
		}
		var got late
		early.answer.Set("X-Late", "1")
		early.w.WriteHeader(http.StatusTeapot)
		_, got.write = early.w.Write([]byte("late"))
		_, got.read = early.r.Body.Read(make([]byte, 1))
		heard <- got
		_, _ = io.WriteString(w, "mine")
	})
	c, r := dial(t, addr)
	send(t, c, keptRequestText(0)+keptRequestText(1))
	answer(t, r, "POST")
	res, body := answer(t, r, "POST")
	if res.StatusCode != 200 || body != "mine" || res.Header.Get("X-Late") != "" {
		t.Errorf("second answer = %d %q %v, want 200, mine, no X-Late", res.StatusCode, body, res.Header)
	}
	got := <-heard
	if !errors.Is(got.write, http.ErrHandlerTimeout) {
		t.Errorf("late Write = %v, want ErrHandlerTimeout", got.write)
	}
	if !errors.Is(got.read, http.ErrBodyReadAfterClose) {
		t.Errorf("late Read = %v, want ErrBodyReadAfterClose", got.read)
	}
}

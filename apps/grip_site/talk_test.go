// SPDX-License-Identifier: MIT

//go:build linux

package gripsite

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// patience bounds a wait for something that has to come.
const patience = 9 * time.Second

// A testCase is one promise. Its channels carry the name of the case.
type testCase struct {
	name string
	run  func(t *testing.T, s *site)
	slow bool // it waits more than it works: beside others
}

// play runs cases against one site.
func play(t *testing.T, s *site, cases []testCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.slow {
				t.Parallel()
			}
			c.run(t, s)
		})
	}
}

// channelOf is a name that no other case uses.
func channelOf(t *testing.T) string {
	return strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())
}

// An answer is a response that was read whole.
type answer struct {
	status int
	head   http.Header
	body   string
}

// request makes a request; headers are "Name: value".
func (s *site) request(
	t *testing.T, method, path string, body io.Reader, headers []string,
) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	return req
}

// do sends a request on a connection of its own and reads the answer.
func (s *site) do(t *testing.T, req *http.Request) answer {
	t.Helper()
	a, err := try(req)
	if err != nil {
		t.Fatalf("%s %s: %v after %q", req.Method, req.URL, err, short(a.body))
	}
	return a
}

// try is do for goroutines, which may not end a test.
func try(req *http.Request) (answer, error) {
	client := http.Client{
		Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 6 * patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text)}, err
}

func (s *site) get(t *testing.T, path string, headers ...string) answer {
	t.Helper()
	return s.do(t, s.request(t, "GET", path, nil, headers))
}

// post sends a form and gives the answer whatever it is.
func (s *site) post(t *testing.T, path string, form url.Values, headers ...string) answer {
	t.Helper()
	return s.do(t, s.formRequest(t, path, form, headers...))
}

func (s *site) formRequest(
	t *testing.T, path string, form url.Values, headers ...string,
) *http.Request {
	t.Helper()
	headers = append(headers, "Content-Type: application/x-www-form-urlencoded")
	return s.request(t, "POST", path, strings.NewReader(form.Encode()), headers)
}

// sending sends the numbers from first to last while the test goes on; the channel
// tells what was wrong with it, nil when nothing was.
func (s *site) sending(t *testing.T, channel string, first, last, step, size int) <-chan error {
	t.Helper()
	var requests []*http.Request
	for ; first <= last; first += step {
		requests = append(requests, s.formRequest(t, "/send/", form("channel", channel,
			"first", fmt.Sprint(first), "count", fmt.Sprint(min(step, last-first+1)),
			"size", fmt.Sprint(size))))
	}
	done := make(chan error, 1)
	go func() {
		for _, req := range requests {
			if a, err := try(req); err != nil || a.status != 200 {
				done <- fmt.Errorf("POST /send/ = %d %q, %v", a.status, short(a.body), err)
				return
			}
		}
		done <- nil
	}()
	return done
}

// form makes the values of a form of pairs.
func form(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v
}

// posted sends a form that has to be taken.
func (s *site) posted(t *testing.T, path string, pairs ...string) answer {
	t.Helper()
	a := s.post(t, path, form(pairs...))
	if a.status != 200 {
		t.Fatalf("POST %s %q = %d %q, want 200", path, pairs, a.status, short(a.body))
	}
	return a
}

// send has a view send one event for each text.
func (s *site) send(t *testing.T, channel string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		s.posted(t, "/send/", "channel", channel, "data", text)
	}
}

// sendMany has a view send the numbers from first on.
func (s *site) sendMany(t *testing.T, channel string, first, count int) {
	t.Helper()
	s.posted(t, "/send/", "channel", channel,
		"first", fmt.Sprint(first), "count", fmt.Sprint(count))
}

// login makes a user and gives its key and the header that says who it is.
func (s *site) login(t *testing.T, name string) (key, cookie string) {
	t.Helper()
	a := s.posted(t, "/login/", "name", name)
	session, _, _ := strings.Cut(a.head.Get("Set-Cookie"), ";")
	if !strings.HasPrefix(session, "sessionid=") {
		t.Fatalf("POST /login/ set %q, want a session", a.head["Set-Cookie"])
	}
	return a.body, "Cookie: " + session
}

// notes are what views noted of a topic.
func (s *site) notes(t *testing.T, topic string) []string {
	t.Helper()
	var got struct{ Notes []string }
	a := s.get(t, "/log/?topic="+url.QueryEscape(topic))
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatalf("/log/ = %d %q: %v", a.status, short(a.body), err)
	}
	return got.Notes
}

// short leaves out the middle of a long text.
func short(text string) string {
	if len(text) > 600 {
		return text[:300] + " … " + text[len(text)-300:]
	}
	return text
}

// numbers are the texts of first to last.
func numbers(first, last int) []string {
	var list []string
	for n := first; n <= last; n++ {
		list = append(list, fmt.Sprint(n))
	}
	return list
}

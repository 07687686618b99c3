// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
)

const token = "s3cret-token"

var bin string

func TestMain(m *testing.M) { smoketest.Main(m, &bin, main) }

func start(t *testing.T, env ...string) *smoketest.Process {
	t.Helper()
	return smoketest.Start(t, bin, env...)
}

// ask sends a request; fields are "Name: value". A body is JSON of a writer.
func ask(t *testing.T, method, url, body string, fields ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header.Set(name, value)
	}
	res, err := (&http.Client{Timeout: smoketest.Patience}).Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return res, string(text)
}

// TestSmokeReadme runs the commands of the README as they are printed.
func TestSmokeReadme(t *testing.T) {
	p := start(t, "NOTES_TOKEN="+token)
	for _, tool := range []string{"bash", "curl", "grep"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: no %s on this machine", tool)
		}
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	prelude, commands := "", 0
	blocks := regexp.MustCompile(`(?m)^    \$ (.+)\n((?:    [^$].*\n)*)`)
	for _, m := range blocks.FindAllStringSubmatch(string(readme), -1) {
		command, want := m[1], strings.ReplaceAll("\n"+m[2], "\n    ", "\n")[1:]
		if strings.HasPrefix(command, "export ") {
			prelude = strings.Replace(command, "http://127.0.0.1:8080", p.URL, 1)
			continue
		}
		commands++
		out, err := exec.Command("bash", "-c", prelude+"\n"+command).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("$ %s\n%s(%v)\nwant\n%s", command, out, err, want)
		}
	}
	if commands < 10 {
		t.Errorf("vacuous: the README has %d commands; want 10 at least", commands)
	}
}

// TestSmokeOneOfManyWritersWins: of all who saw one version one changes it, and
// the others learn that it has changed.
func TestSmokeOneOfManyWritersWins(t *testing.T) {
	p := start(t, "NOTES_TOKEN="+token)
	for version := 1; version <= 10; version++ {
		match := fmt.Sprintf(`If-Match: "1.%d-html"`, version)
		statuses := make(map[int]int)
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				res, _ := ask(t, "PUT", p.URL+"/notes/1", fmt.Sprintf(`{"text":"of %d"}`, i), match)
				mu.Lock()
				defer mu.Unlock()
				statuses[res.StatusCode]++
			})
		}
		wg.Wait()
		if statuses[200] != 1 || statuses[412] != 7 {
			t.Fatalf("eight writes of version %d = %v; want one 200 and seven 412", version, statuses)
		}
	}
}

func TestSmokeTags(t *testing.T) {
	p := start(t)
	for path, strong := range map[string]bool{"/notes/1": true, "/notes": false} {
		seen := map[string]string{}
		for _, accept := range []string{"application/json", "text/html"} {
			res, body := ask(t, "GET", p.URL+path, "", "Accept: "+accept)
			tag := res.Header.Get("ETag")
			if tag == "" || strings.HasPrefix(tag, "W/") == strong || seen[tag] != "" {
				t.Errorf("GET %s as %s has the tag %q; want one of its own, strong: %v", path,
					accept, tag, strong)
			}
			seen[tag] = accept
			again, empty := ask(t, "GET", p.URL+path, "", "Accept: "+accept, "If-None-Match: "+tag)
			if again.StatusCode != 304 || empty != "" || again.Header.Get("ETag") != tag ||
				again.Header.Get("Vary") != "Accept" || again.Header.Get("Cache-Control") != "no-cache" {
				t.Errorf("GET %s as %s with its tag = %d %q %v; want 304 with its fields",
					path, accept, again.StatusCode, empty, again.Header)
			}
			head, _ := ask(t, "HEAD", p.URL+path, "", "Accept: "+accept)
			if head.Header.Get("ETag") != tag || head.ContentLength >= 0 &&
				head.ContentLength != int64(len(body)) {
				t.Errorf("HEAD %s as %s has tag %q, length %d; want those of GET, %q and %d",
					path, accept, head.Header.Get("ETag"), head.ContentLength, tag, len(body))
			}
		}
	}
}

// TestSmokeProblemsNameTheirRequest: what the client can quote is in the log, and
// the token is not.
func TestSmokeProblemsNameTheirRequest(t *testing.T) {
	p := start(t, "NOTES_TOKEN="+token)
	for _, c := range []struct {
		method, path, body string
		fields             []string
		want               int
	}{
		{"GET", "/nowhere", "", nil, 404},
		{"GET", "/notes/01", "", nil, 404},
		{"GET", "/notes/x", "", nil, 404},
		{"PATCH", "/notes", "", nil, 405},
		{"GET", "/notes", "", []string{"Accept: text/plain"}, 406},
		{"POST", "/notes", `{"text":"a"}`, []string{"Authorization: Bearer wrong-token"}, 401},
		{"POST", "/notes", `{"text":"a"}`, []string{"Content-Type: text/plain"}, 415},
		{"POST", "/notes", `{"text":""}`, nil, 400},
		{"POST", "/notes", `{"text":"a","x":1}`, nil, 400},
		{"POST", "/notes", `{"text":"a"}{}`, nil, 400},
		{"POST", "/notes", `{"text":"` + strings.Repeat("a", 4097) + `"}`, nil, 413},
		{"POST", "/notes", `{"text":"` + strings.Repeat("a", 40000) + `"}`, nil, 413},
		{"PUT", "/notes/9", `{"text":"a"}`, []string{"If-Match: *"}, 404},
		{"DELETE", "/notes/1", "", []string{`If-Match: W/"1.1-json"`}, 412},
		{"OPTIONS", "/notes", "", []string{"Origin: https://a.example"}, 204},
	} {
		res, body := ask(t, c.method, p.URL+c.path, c.body, c.fields...)
		id := res.Header.Get("X-Request-Id")
		if res.StatusCode != c.want || id == "" || res.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s %s = %d %s %v; want %d with an id, for all origins",
				c.method, c.path, res.StatusCode, body, res.Header, c.want)
		}
		if c.want >= 400 && (res.Header.Get("Content-Type") != "application/problem+json" ||
			!strings.Contains(body, `"request_id":"`+id+`"`)) {
			t.Errorf("%s %s is answered with %s; want a problem that names %s", c.method, c.path, body, id)
		}
		smoketest.Until(t, "the line of "+c.method+" "+c.path, func() bool {
			return strings.Contains(p.Log(), `"request_id":"`+id+`"`)
		})
	}
	for _, secret := range []string{token, "wrong-token"} {
		if strings.Contains(p.Log(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

func TestSmokeHostileTextStaysText(t *testing.T) {
	p := start(t, "NOTES_TOKEN="+token)
	res, _ := ask(t, "POST", p.URL+"/notes", `{"text":"<script>alert(1)</script>"}`)
	if res.StatusCode != 201 || res.Header.Get("Location") != "/notes/2" {
		t.Fatalf("POST = %d, Location %q; want 201, /notes/2", res.StatusCode, res.Header.Get("Location"))
	}
	for _, path := range []string{"/notes", "/notes/2"} {
		_, html := ask(t, "GET", p.URL+path, "", "Accept: text/html")
		if strings.Contains(html, "<script>") || !strings.Contains(html, "&lt;script&gt;alert(1)") {
			t.Errorf("GET %s as HTML = %s; want the text, escaped", path, html)
		}
	}
}

func TestSmokeNotesAreBounded(t *testing.T) {
	p := start(t, "NOTES_TOKEN="+token)
	for n := 2; n <= notesMax; n++ {
		if res, body := ask(t, "POST", p.URL+"/notes", `{"text":"a"}`); res.StatusCode != 201 {
			t.Fatalf("note %d = %d %s; want 201", n, res.StatusCode, body)
		}
	}
	if res, _ := ask(t, "POST", p.URL+"/notes", `{"text":"a"}`); res.StatusCode != 507 {
		t.Errorf("one more = %d; want 507", res.StatusCode)
	}
	if res, _ := ask(t, "DELETE", p.URL+"/notes/7", ""); res.StatusCode != 204 {
		t.Errorf("DELETE = %d; want 204", res.StatusCode)
	}
	if res, _ := ask(t, "POST", p.URL+"/notes",
		`{"text":"a"}`); res.Header.Get("Location") != "/notes/1001" {
		t.Errorf("in its place comes %q; want a new id, /notes/1001", res.Header.Get("Location"))
	}
}

// TestSmokeNobodyWritesWithoutAToken: unset means nobody, not everybody.
func TestSmokeNobodyWritesWithoutAToken(t *testing.T) {
	p := start(t)
	for _, auth := range []string{"", "Bearer ", "Bearer " + token} {
		req, err := http.NewRequest("DELETE", p.URL+"/notes/1", nil)
		if err != nil {
			t.Fatal(err)
		}
		if auth != "" {
			req.Header.Set("Authorization", auth)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 401 {
			t.Errorf("DELETE with Authorization %q = %d; want 401", auth, res.StatusCode)
		}
	}
}

func TestSmokeRefusesWrongSettings(t *testing.T) {
	for _, env := range []string{"NOTES_TOKEN=zq7", "M0_WORKERS=2"} {
		name, value, _ := strings.Cut(env, "=")
		log := smoketest.Refused(t, bin, name, env)
		if name == "NOTES_TOKEN" && strings.Contains(log, value) {
			t.Errorf("with %s the service printed %s; want no secret", env, log)
		}
	}
}

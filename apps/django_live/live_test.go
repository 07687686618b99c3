// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

func TestSmokeCommentReachesEveryWorker(t *testing.T) {
	s := serve(t)
	var streams []*smoketest.Stream
	s.onBoth(t, func() { streams = append(streams, s.open(t, "")) })
	v := s.visitor(t)
	for i := range 4 { // whichever worker takes the form
		v.write(t, fmt.Sprint("comment ", i))
	}
	for i := range 4 {
		ids := map[string]bool{}
		for _, stream := range streams {
			ids[want(t, stream, fmt.Sprint("comment ", i), is(fmt.Sprint("comment ", i)))] = true
		}
		if len(ids) != 1 || ids[""] {
			t.Errorf("comment %d came under the ids %v, want one", i, ids)
		}
	}
}

func TestSmokeHostileTextStaysText(t *testing.T) {
	s := serve(t)
	stream, v := s.open(t, ""), s.visitor(t)
	const text = `<script>alert("x")</script>`
	const safe = `<p>&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;</p>`
	if status, _ := v.post(t, "/comment", "author", "<b>Eve</b>", "text", text); status != 302 {
		t.Fatalf("POST /comment = %d", status)
	}
	for where, html := range map[string]string{"event": stream.Next(t).Data, "page": v.page(t)} {
		if !strings.Contains(html, safe) || !strings.Contains(html, "&lt;b&gt;Eve&lt;/b&gt;") ||
			strings.Contains(html, text) {
			t.Errorf("%s: %q, want %s in it", where, html, safe)
		}
	}
}

// Who comes back with the id of the last event gets what was missed, once and in order, and
// then what is new; who comes with one that nobody knows is told to look at the page again.
func TestSmokeReconnectCatchesUp(t *testing.T) {
	s := serve(t)
	v := s.visitor(t)
	first := s.open(t, "")
	v.write(t, "seen")
	id := want(t, first, "the comment seen", is("seen"))
	first.Close()
	for _, text := range []string{"missed 1", "missed 2", "missed 3"} {
		v.write(t, text)
	}
	var streams []*smoketest.Stream
	s.onBoth(t, func() { streams = append(streams, s.open(t, id)) })
	v.write(t, "new")
	for _, stream := range streams {
		for _, text := range []string{"missed 1", "missed 2", "missed 3", "new"} {
			want(t, stream, "the comment "+text, is(text))
		}
	}
	for _, unknown := range []string{"1", "nonsense"} {
		stream := s.open(t, unknown)
		want(t, stream, "a reset", func(e smoketest.Event) bool { return e.Name == "reset" })
	}
}

// A worker that is killed takes no comment with it: its successor knows what it had sent.
func TestSmokeKilledWorkerLosesNoComment(t *testing.T) {
	s := serve(t)
	v := s.visitor(t)
	first := s.open(t, "")
	v.write(t, "seen")
	id := want(t, first, "the comment seen", is("seen"))
	for index, pid := range s.p.Workers(t) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint("without worker ", index)
		smoketest.Until(t, "worker to be gone", func() bool { return s.p.Workers(t)[index] != pid })
		v.write(t, text)
		smoketest.Until(t, "its successor to serve", func() bool { return len(s.held(t)) == 2 })
		var streams []*smoketest.Stream
		s.onBoth(t, func() { streams = append(streams, s.open(t, id)) })
		for _, stream := range streams {
			want(t, stream, text, is(text))
			stream.Close()
		}
		id = s.lastID(t, id)
	}
}

// lastID reads what there is behind id and gives the last.
func (s *site) lastID(t *testing.T, id string) string {
	t.Helper()
	stream := s.open(t, id)
	defer stream.Close()
	return stream.Next(t).ID
}

func jobPercent(e smoketest.Event) int {
	_, rest, _ := strings.Cut(e.Data, `value="`)
	value, _, _ := strings.Cut(rest, `"`)
	n, err := strconv.Atoi(value)
	if e.Name != "job" || err != nil {
		return -1
	}
	return n
}

// The job runs in another process and is seen step by step; a second one has to wait.
func TestSmokeJobTellsItsProgress(t *testing.T) {
	s := serve(t, "LIVE_JOB_SECONDS=2")
	v, stream := s.visitor(t), s.open(t, "")
	if status, _ := v.post(t, "/job"); status != 302 {
		t.Fatalf("POST /job = %d, want 302", status)
	}
	if got := jobPercent(stream.Next(t)); got != 0 {
		t.Fatalf("a job begins at %d %%, want 0", got)
	}
	if status, _ := v.post(t, "/job"); status != 302 {
		t.Fatalf("POST /job again = %d, want 302", status)
	}
	out, err := s.manage(t, "longjob").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a job is running already") {
		t.Errorf("manage.py longjob beside a job: %v %s, want a refusal", err, out)
	}
	for percent := 2; percent <= 100; percent += 2 {
		if got := jobPercent(stream.Next(t)); got != percent {
			t.Fatalf("progress of %d %%, want %d", got, percent)
		}
	}
	want(t, stream, "the news that it is done", isNotice("Job 1 is done"))
	if out, err := s.manage(t, "longjob").CombinedOutput(); err != nil {
		t.Fatalf("manage.py longjob: %v\n%s", err, out)
	}
	stream.Until(t, "job 2 to be done", isNotice("Job 2 is done"))
	if html := v.page(t); !strings.Contains(html, "Job 2 is done") {
		t.Error("the page does not show that job 2 is done")
	}
}

func isNotice(text string) func(smoketest.Event) bool {
	return func(e smoketest.Event) bool { return e.Name == "notice" && e.Data == text }
}

func TestSmokeWave(t *testing.T) {
	s := serve(t)
	stream, v := s.open(t, ""), s.visitor(t)
	if status, _ := v.post(t, "/wave"); status != 302 {
		t.Fatalf("POST /wave = %d, want 302", status)
	}
	want(t, stream, "a wave", isNotice("Somebody waves at you"))
	v.write(t, "hello")
	stream.Next(t)
	if status, _ := v.post(t, "/wave"); status != 302 {
		t.Fatalf("POST /wave = %d, want 302", status)
	}
	want(t, stream, "a wave by name", isNotice("Ada waves at you"))
}

// A tab that says nothing for a while is gone, whatever became of it, and who is there hears it.
func TestSmokePresenceForgetsTheSilent(t *testing.T) {
	s := serve(t, "LIVE_BEAT_SECONDS=1")
	stream, v := s.open(t, ""), s.visitor(t)
	tab := func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
	beat := func(n int) string {
		t.Helper()
		status, count := v.post(t, "/here", "tab", tab(n))
		if status != 200 {
			t.Fatalf("POST /here = %d %.200q", status, count)
		}
		return count
	}
	count := func(n string) func(smoketest.Event) bool {
		return func(e smoketest.Event) bool { return e.Name == "presence" && e.Data == n }
	}
	for n := 1; n <= 3; n++ {
		if got := beat(n); got != strconv.Itoa(n) {
			t.Errorf("tab %d hears of %s, want %d", n, got, n)
		}
		want(t, stream, "a count", count(strconv.Itoa(n)))
	}
	if beat(1); beat(2) != "3" {
		t.Error("a tab that was heard of again was counted again")
	}
	if status, _ := v.post(t, "/here", "tab", tab(3), "leaving", "1"); status != 200 {
		t.Errorf("POST /here, leaving = %d, want 200", status)
	}
	want(t, stream, "a count without the tab that left", count("2"))
	for begin := time.Now(); beat(1) != "1"; time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > 6*time.Second { // more than twice what it may be silent
			t.Fatal("the silent tab is still counted after 6 s")
		}
	}
	want(t, stream, "a count without the silent tab", count("1"))
	if status, _ := v.post(t, "/here", "tab", "x"); status != 400 {
		t.Errorf("POST /here of no tab = %d, want 400", status)
	}
}

// Without script the page is one of forms.
func TestSmokeWorksWithoutScript(t *testing.T) {
	s := serve(t)
	v := s.visitor(t)
	v.write(t, "plain")
	if html := v.page(t); !strings.Contains(html, "<p>plain</p>") ||
		!strings.Contains(html, `name="author" value="Ada"`) {
		t.Errorf("the page shows neither comment nor name: %.2000q", html)
	}
	for _, text := range []string{"", strings.Repeat("x", 1001)} {
		status, html := v.post(t, "/comment", "author", "Ada", "text", text)
		if status != 422 || !strings.Contains(html, `class="error"`) {
			t.Errorf("a comment of %d characters = %d, want 422 with the reason", len(text), status)
		}
	}
	v.token = "wrong"
	for _, path := range []string{"/comment", "/wave", "/job", "/here"} {
		if status, _ := v.post(t, path); status != 403 {
			t.Errorf("POST %s with a wrong token = %d, want 403", path, status)
		}
	}
}

// What cannot be published is kept all the same, and the log says so.
func TestSmokeNobodyToPublishTo(t *testing.T) {
	s := serveApp(t, "elsewhere")
	v := s.visitor(t)
	v.write(t, "kept")
	if !strings.Contains(v.page(t), "<p>kept</p>") {
		t.Error("the comment is not on the page")
	}
	smoketest.Until(t, "a warning", func() bool {
		return strings.Contains(s.p.Log(), "nobody listens at /nobody/there.sock")
	})
}

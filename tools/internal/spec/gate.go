// SPDX-License-Identifier: MIT

package spec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"m0serve.dev/tools/internal/proc"
)

// buildTime bounds the build of a gate; the clock of its run starts afterwards.
const buildTime = 5 * time.Minute

// Verdict is what came of one sabotage. Everything but Killed is a miss.
type Verdict string

// The verdicts.
const (
	Killed      Verdict = "killed"       // the gate failed and printed the text wanted
	Survived    Verdict = "survived"     // the gate passed
	Broken      Verdict = "broken"       // the changed code does not compile
	Stale       Verdict = "stale"        // the old text does not occur exactly once
	WrongReason Verdict = "wrong reason" // the gate failed without the text wanted
	TimedOut    Verdict = "timeout"      // the gate took longer than allowed
	RedBefore   Verdict = "red before"   // the gate fails without the change
)

// Outcome is a verdict with its evidence.
type Outcome struct {
	Sabotage *Sabotage
	Verdict  Verdict
	Detail   string // output of the gate or the reason, for a miss
	Took     time.Duration
}

// Runner runs sabotages. It may be used by several goroutines; a gate is run
// once without a change however many sabotages share it.
type Runner struct {
	Top string // of the repository
	Tmp string // folder for overlays, the caller's

	// GateTime bounds the run of a gate after its build; zero: 20 seconds.
	GateTime time.Duration

	mu    sync.Mutex
	green map[string]func() (string, error) // module and gate → what its one run printed
}

// Run does one sabotage and reports what came of it.
func (r *Runner) Run(ctx context.Context, s *Sabotage) Outcome {
	begin := time.Now()
	verdict, detail := r.run(ctx, s)
	return Outcome{s, verdict, detail, time.Since(begin)}
}

func (r *Runner) run(ctx context.Context, s *Sabotage) (Verdict, string) {
	if s.Bad != nil {
		return Broken, s.Bad.Error()
	}
	overlay, err := r.overlay(s)
	switch {
	case errors.Is(err, ErrStale):
		return Stale, err.Error()
	case err != nil:
		return Broken, err.Error()
	}
	switch printed, err := r.greenOnce(ctx, s); {
	case err != nil:
		return RedBefore, err.Error()
	case strings.Contains(printed, s.Want):
		return WrongReason, fmt.Sprintf("%q is printed without the change, too", s.Want)
	}
	got := r.gate(ctx, s, overlay)
	switch {
	case got.broken || compileError(s).MatchString(got.output):
		return Broken, got.output
	case errors.Is(got.err, proc.ErrTimeout):
		return TimedOut, got.output
	case got.err == nil:
		return Survived, got.output
	case !strings.Contains(got.output, s.Want):
		return WrongReason, fmt.Sprintf("%s\nwant %q in it", got.output, s.Want)
	}
	return Killed, ""
}

func (r *Runner) gateTime() time.Duration {
	if r.GateTime == 0 {
		return 20 * time.Second
	}
	return r.GateTime
}

// overlay writes the changed file and the description that makes the go command
// read it instead of the one in the tree, which is never touched.
func (r *Runner) overlay(s *Sabotage) (string, error) {
	file := filepath.Join(r.Top, filepath.FromSlash(s.Module), filepath.FromSlash(s.File))
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	changed, err := s.Apply(string(text))
	if err != nil {
		return "", err
	}
	base := filepath.Join(r.Tmp, s.Module+"-"+s.ID)
	instead := filepath.Join(r.Tmp, overlayName(s))
	if err := os.WriteFile(instead, []byte(changed), 0o666); err != nil {
		return "", err
	}
	desc, err := json.Marshal(map[string]any{"Replace": map[string]string{file: instead}})
	if err != nil {
		return "", err
	}
	return base + ".json", os.WriteFile(base+".json", desc, 0o666)
}

// greenOnce runs the gate without the change, once for all who share it, and returns what
// it printed.
func (r *Runner) greenOnce(ctx context.Context, s *Sabotage) (string, error) {
	key := s.Module + " " + s.Gate
	r.mu.Lock()
	if r.green == nil {
		r.green = map[string]func() (string, error){}
	}
	if r.green[key] == nil {
		r.green[key] = sync.OnceValues(func() (string, error) {
			got := r.gate(ctx, s, "")
			if got.err == nil && !got.ran {
				return "", fmt.Errorf("gate %q runs no test", s.Gate)
			}
			if got.err != nil {
				return "", fmt.Errorf("%s\n%w", got.output, got.err)
			}
			return got.output, nil
		})
	}
	once := r.green[key]
	r.mu.Unlock()
	return once()
}

// gateRun is what one run of a gate printed and how it ended.
type gateRun struct {
	output string
	broken bool // a build failed
	ran    bool // a test ran to its end, or the gate is no go test
	err    error
}

// gate runs the gate's command with the overlay in GOFLAGS, where the go commands
// that a test starts see it too. Cached results are never taken: a test that
// builds a binary does not know that the binary's source changed.
func (r *Runner) gate(ctx context.Context, s *Sabotage, overlay string) gateRun {
	env, args, err := s.Command()
	if err != nil {
		return gateRun{err: err, broken: true}
	}
	flags := os.Getenv("GOFLAGS") + " -count=1"
	if overlay != "" {
		flags += " -overlay=" + overlay
	}
	g := &gateReader{time: r.gateTime()}
	if args[1] == "test" {
		args = append([]string{"go", "test", "-json"}, args[2:]...)
	} else {
		g.ran = true
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := time.AfterFunc(buildTime, func() { cancel(proc.ErrTimeout) })
	defer clock.Stop()
	g.limit = func(d time.Duration) { clock.Reset(d) }
	_, err = proc.Run(ctx, proc.Cmd{
		Dir:    filepath.Join(r.Top, filepath.FromSlash(s.Module)),
		Env:    append(env, "GOFLAGS="+strings.TrimSpace(flags)),
		Args:   args,
		OnLine: g.line,
	})
	return gateRun{g.output.String(), g.broken, g.ran, err}
}

// gateReader reads the events of "go test -json", or plain text.
type gateReader struct {
	output bytes.Buffer
	limit  func(time.Duration) // told how long the gate may take from now on
	time   time.Duration       // of a run that builds nothing
	broken bool
	ran    bool
}

func (g *gateReader) line(line string) {
	var e struct{ Action, Test, Output, FailedBuild string }
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		g.output.WriteString(line + "\n")
		return
	}
	g.output.WriteString(e.Output)
	g.broken = g.broken || e.FailedBuild != "" || e.Action == "build-fail"
	g.ran = g.ran || e.Action == "pass" && e.Test != ""
	switch { // a test says when it builds: see smoketest.Building
	case strings.HasPrefix(e.Output, "building "):
		g.limit(buildTime)
	case e.Action == "start", strings.HasPrefix(e.Output, "built "):
		g.limit(g.time)
	}
}

// overlayName is the name of the changed file. It keeps the extension, and no two
// sabotages share it.
func overlayName(s *Sabotage) string {
	return strings.ReplaceAll(s.Module, "/", "-") + "-" + s.ID + path.Ext(s.File)
}

// compileError matches a compiler's message about the changed file, which a build
// inside of a test prints too. The go command names either of the two files.
func compileError(s *Sabotage) *regexp.Regexp {
	return regexp.MustCompile(`(?m)(^|[\s/])(` + regexp.QuoteMeta(path.Base(s.File)) + `|` +
		regexp.QuoteMeta(overlayName(s)) + `):\d+:\d+: `)
}

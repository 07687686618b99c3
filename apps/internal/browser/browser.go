// SPDX-License-Identifier: MIT

//go:build unix

// Package browser drives a real Chromium for the tests of pages. It skips the
// test, saying why, where no browser or no Datastar client can be had.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Patience bounds every wait for a page. The longest back-off of the client
// between two tries is well below it.
const Patience = 40 * time.Second

// A Browser is one running Chromium with a profile of its own.
type Browser struct {
	ctx context.Context
}

// Start runs a headless Chromium until the end of the test.
func Start(t *testing.T) *Browser { return start(t) }

// StartTrusting is Start of a browser that takes any certificate.
func StartTrusting(t *testing.T) *Browser {
	return start(t, chromedp.Flag("ignore-certificate-errors", true))
}

func start(t *testing.T, more ...chromedp.ExecAllocatorOption) *Browser {
	t.Helper()
	path := find(t)
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.NoSandbox, // the tests run as root
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
	)
	opts = append(opts, more...)
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	b := &Browser{ctx: ctx}
	if _, err := chromedp.Run(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("browser: start %s: %v", path, err)
	}
	return b
}

func find(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("SKIPPED: no Chromium on this machine; `go run ./tools setup` installs Debian's")
	return ""
}

// DatastarFile is the file of a Datastar v1 client for M0_DATASTAR_JS: what
// that variable names, else what `go run ./tools setup` put into the cache.
func DatastarFile(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("M0_DATASTAR_JS"); path != "" {
		return path
	}
	cache, err := os.UserCacheDir()
	if err == nil {
		path := filepath.Join(cache, "m0", "datastar.js")
		if _, err = os.Stat(path); err == nil {
			return path
		}
	}
	t.Skipf("SKIPPED: no Datastar client (%v); `go run ./tools setup` fetches one,"+
		" or set M0_DATASTAR_JS to its file", err)
	return ""
}

// A Tab is one page.
type Tab struct {
	ctx context.Context
}

// Open loads url in a new window, so that the page stays visible.
func (b *Browser) Open(t *testing.T, url string) *Tab { return b.open(t, url, true) }

// OpenBehind loads url in a new tab of the window that was used last: the tab
// that was in front there is hidden from now on, as when a person opens one.
func (b *Browser) OpenBehind(t *testing.T, url string) *Tab { return b.open(t, url, false) }

func (b *Browser) open(t *testing.T, url string, window bool) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewWindow(window))
	t.Cleanup(cancel)
	tab := &Tab{ctx: ctx}
	if _, err := chromedp.Run(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatalf("browser: open %s: %v", url, err)
	}
	return tab
}

// Go leaves the page for url, as by a link.
func (tab *Tab) Go(t *testing.T, url string) {
	t.Helper()
	if _, err := chromedp.Run(tab.ctx, chromedp.Navigate(url)); err != nil {
		t.Fatalf("browser: go to %s: %v", url, err)
	}
}

// Eval runs a JavaScript expression in the page.
func Eval[T any](t *testing.T, tab *Tab, expression string) T {
	t.Helper()
	v, err := chromedp.Run(tab.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("browser: evaluate %s: %v", expression, err)
	}
	return v
}

// Until waits until the JavaScript expression is true in the page.
func (tab *Tab) Until(t *testing.T, expression string) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for !Eval[bool](t, tab, "Boolean("+expression+")") {
		if time.Now().After(deadline) {
			t.Fatalf("browser: waited %v in vain for %s; the page shows:\n%s", Patience, expression,
				Eval[string](t, tab, "document.body.innerText"))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Type types text into the element, key by key, and "\r" for Enter.
func (tab *Tab) Type(t *testing.T, selector, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, Patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.SendKeys(selector, text)); err != nil {
		t.Fatalf("browser: type into %s: %v", selector, err)
	}
}

// Click clicks the element with the mouse.
func (tab *Tab) Click(t *testing.T, selector string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, Patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Click(selector)); err != nil {
		t.Fatalf("browser: click %s: %v", selector, err)
	}
}

// NoScript turns the scripts of pages off that are loaded from now on.
func (tab *Tab) NoScript(t *testing.T) {
	t.Helper()
	off := func(ctx context.Context, tg *chromedp.Target) (chromedp.Void, error) {
		return cdp.Call(ctx, tg, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
	}
	if _, err := chromedp.Run[chromedp.Void](tab.ctx, off); err != nil {
		t.Fatalf("browser: turn scripts off: %v", err)
	}
}

// Front brings the tab to the front of its window.
func (tab *Tab) Front(t *testing.T) {
	t.Helper()
	front := func(ctx context.Context, tg *chromedp.Target) (chromedp.Void, error) {
		return cdp.Call(ctx, tg, page.BringToFront, cdp.Empty{})
	}
	if _, err := chromedp.Run[chromedp.Void](tab.ctx, front); err != nil {
		t.Fatalf("browser: bring to front: %v", err)
	}
}

// Crash kills the process that shows the page: no handler of the page runs, and nobody can
// use the tab any more.
func (tab *Tab) Crash(t *testing.T) {
	t.Helper()
	crash := func(ctx context.Context, tg *chromedp.Target) (chromedp.Void, error) {
		return cdp.Call(ctx, tg, page.Crash, cdp.Empty{})
	}
	ctx, cancel := context.WithTimeout(tab.ctx, time.Second)
	defer cancel()
	_, _ = chromedp.Run[chromedp.Void](ctx, crash) // who is dead does not answer
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("true")); err == nil {
		t.Fatal("browser: the page survived its crash")
	}
}

// Size gives the page a size, as that of a phone.
func (tab *Tab) Size(t *testing.T, width, height int64) {
	t.Helper()
	if _, err := chromedp.Run(tab.ctx, chromedp.EmulateViewport(width, height)); err != nil {
		t.Fatalf("browser: size %dx%d: %v", width, height, err)
	}
}

// Screenshot writes what the page looks like at that size to the folder that
// M0_SCREENSHOTS names, and does nothing when it names none.
func (tab *Tab) Screenshot(t *testing.T, name string, width, height int64, dark bool) {
	t.Helper()
	dir := os.Getenv("M0_SCREENSHOTS")
	if dir == "" {
		return
	}
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	if err := tab.dress(width, height, scheme); err != nil {
		t.Fatalf("browser: emulate %s %dx%d: %v", scheme, width, height, err)
	}
	png, err := chromedp.Run(tab.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatalf("browser: screenshot: %v", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%s-%d.png", name, scheme, width))
	if err := os.WriteFile(path, png, 0o644); err != nil {
		t.Fatal(err)
	}
}

// dress sets the size of the page and its preferred colour scheme.
func (tab *Tab) dress(width, height int64, scheme string) error {
	if _, err := chromedp.Run(tab.ctx, chromedp.EmulateViewport(width, height)); err != nil {
		return err
	}
	media := func(ctx context.Context, tg *chromedp.Target) (chromedp.Void, error) {
		return cdp.Call(ctx, tg, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
	}
	_, err := chromedp.Run[chromedp.Void](tab.ctx, media)
	return err
}

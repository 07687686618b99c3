// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"os"
	"path/filepath"
	"strings"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/gotest"
	"m0serve.dev/tools/internal/pack"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/tree"
)

const isolateWhat = "each module alone, ours taken from packed zips"

// modFiles are the two files that a tidy may change.
var modFiles = []string{"go.mod", "go.sum"}

// tidy does for all modules what go mod tidy cannot do in a workspace whose
// modules require each other in a version that is not published yet.
func tidy(e *env, args []string) error {
	if len(args) > 0 {
		return usageError("takes no argument")
	}
	e.con.Step("tidy", "go.mod and go.sum of each module, against the ones before it packed",
		func(s *console.Step) error {
			err := e.withTidied(s, nil, func(shop *pack.Shop, module string) error {
				return e.takeBack(s, shop, module)
			})
			if err != nil {
				return err
			}
			return e.oneGoLine(s)
		})
	if !e.con.Close("tidy") {
		return errFailed
	}
	return nil
}

// isolate builds and tests each module as an outsider sees it.
func isolate(e *env, args []string) error {
	if len(args) > 0 {
		return usageError("takes no argument")
	}
	e.con.Step("isolate", isolateWhat, func(s *console.Step) error {
		return e.isolateStep(s, &gotest.Tally{})
	})
	if !e.con.Close("isolate") {
		return errFailed
	}
	return nil
}

// isolateStep goes on after a failure; a module is tested even when the tree's
// go.mod or go.sum are not tidy.
func (e *env) isolateStep(s *console.Step, tally *gotest.Tally) error {
	var errs []error
	err := e.withTidied(s, nil, func(shop *pack.Shop, module string) error {
		if untidy := e.untidy(shop, module); untidy != nil {
			errs = append(errs, untidy)
		}
		s.Doing("go test -short " + module)
		if !hasGo(shop.Dir(module)) {
			s.Printf("%-9s holds no Go yet", module)
			return nil
		}
		if err := shop.Go(e.ctx, module, "build", "./..."); err != nil {
			errs = append(errs, err)
			return nil
		}
		c := shop.Cmd(module, "test", "-json", "-short", "./...")
		if err := tally.Test(e.ctx, c, s.Doing); err != nil {
			errs = append(errs, err)
			return nil
		}
		s.Printf("%-9s builds and passes", module)
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// withTidied copies, tidies and publishes the modules one after another in a
// temporary folder. prepare, unless nil, may change the copy before it is packed;
// visit is called for each before the next.
func (e *env) withTidied(s *console.Step, prepare, visit func(*pack.Shop, string) error) error {
	tmp, err := os.MkdirTemp("", "m0-pack-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	s.Doing("wait for the module cache")
	shop, err := pack.Open(e.ctx, e.top, tmp)
	if err != nil {
		return err
	}
	defer shop.Close()
	next, err := e.workVersion()
	if err != nil {
		return err
	}
	for _, module := range tree.Names {
		s.Doing("tidy " + module)
		if err := shop.Copy(e.ctx, module); err != nil {
			return err
		}
		if err := shop.Go(e.ctx, module, "mod", "tidy"); err != nil {
			return fmt.Errorf("%s: %w", module, err)
		}
		if prepare != nil {
			if err := prepare(shop, module); err != nil {
				return err
			}
		}
		if err := shop.Publish(e.ctx, module, next); err != nil {
			return err
		}
		if err := visit(shop, module); err != nil {
			return err
		}
	}
	return nil
}

// untidy reports the files of a module that tidy would change.
func (e *env) untidy(shop *pack.Shop, module string) error {
	for _, name := range modFiles {
		was, want := readBoth(filepath.Join(e.top, module, name), filepath.Join(shop.Dir(module), name))
		if !bytes.Equal(pack.WithoutOurs(was), pack.WithoutOurs(want)) {
			return fmt.Errorf("%s/%s: is not tidy (go run ./tools tidy)", module, name)
		}
	}
	return nil
}

// takeBack writes what tidy made of a module into the tree, without sums of ours.
func (e *env) takeBack(s *console.Step, shop *pack.Shop, module string) error {
	for _, name := range modFiles {
		file := filepath.Join(e.top, module, name)
		was, want := readBoth(file, filepath.Join(shop.Dir(module), name))
		want = pack.WithoutOurs(want)
		if bytes.Equal(was, want) {
			continue
		}
		s.Printf("%s/%s changed", module, name)
		if len(want) == 0 {
			if err := os.Remove(file); err != nil {
				return err
			}
			continue
		}
		if err := os.WriteFile(file, want, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// oneGoLine gives all modules and the workspace the highest go line that one of
// them needs: a workspace must not be below its modules.
func (e *env) oneGoLine(s *console.Step) error {
	highest := ""
	for _, module := range tree.Names {
		var mod struct{ Go string }
		if err := e.edit(&mod, "mod", module+"/go.mod"); err != nil {
			return err
		}
		if version.Compare("go"+mod.Go, "go"+highest) > 0 {
			highest = mod.Go
		}
	}
	s.Printf("go %s everywhere", highest)
	for _, module := range tree.Names {
		if err := e.goRun(nil, "mod", "edit", "-go="+highest, module+"/go.mod"); err != nil {
			return err
		}
	}
	return e.goRun(nil, "work", "edit", "-go="+highest)
}

// edit reads what "go mod edit -json" or "go work edit -json" says about a file.
func (e *env) edit(into any, kind, file string) error {
	c := proc.Cmd{Dir: e.top, Args: []string{"go", kind, "edit", "-json", file}}
	out, err := proc.Run(e.ctx, c)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(out), into)
}

func readBoth(a, b string) (was, want []byte) {
	was, _ = os.ReadFile(a) // a file that does not exist is empty
	want, _ = os.ReadFile(b)
	return was, want
}

// workVersion returns the version that go.work replaces, the next release.
func (e *env) workVersion() (string, error) {
	var work struct {
		Replace []struct {
			Old struct{ Path, Version string }
		}
	}
	if err := e.edit(&work, "work", "go.work"); err != nil {
		return "", err
	}
	for _, r := range work.Replace {
		if strings.HasPrefix(r.Old.Path, tree.Root+"/") && r.Old.Version != "" {
			return r.Old.Version, nil
		}
	}
	return "", fmt.Errorf("go.work replaces no module of ours with a version")
}

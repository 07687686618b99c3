// SPDX-License-Identifier: MIT

package options

import (
	"errors"
	"path/filepath"
	"strings"
)

// parseApp reads mod, mod:attr, mod:make(), mod:make("x") and path/file.py:attr.
// dir is a directory that has to go to sys.path for a file outside the tree.
func parseApp(v string) (app App, dir string, err error) {
	module, attr, has := cutApp(v)
	if strings.HasSuffix(module, ".py") || strings.ContainsRune(module, '/') {
		app, dir, err = appFile(module)
	} else if !isDotted(module) {
		err = errors.New("write it as module:app, such as mysite.wsgi:application or main:app")
	} else {
		app.Module = module
	}
	if err != nil || !has {
		return app, dir, err
	}
	if name, args, call := strings.Cut(attr, "("); call {
		if !strings.HasSuffix(args, ")") {
			return app, dir, errors.New("close the bracket of the factory call")
		}
		app.Factory, app.Args, attr = true, strings.TrimSpace(args[:len(args)-1]), name
	}
	if !isDotted(attr) {
		return app, dir, errors.New("name an attribute of the module behind the colon, " +
			"such as main:app or main:make()")
	}
	app.Attr = attr
	return app, dir, nil
}

// cutApp cuts at the first colon, but for the one of a Windows drive.
func cutApp(v string) (module, attr string, has bool) {
	from := len(filepath.VolumeName(v))
	module, attr, has = strings.Cut(v[from:], ":")
	return v[:from] + module, attr, has
}

// appFile names the module of a file: proj/wsgi.py is proj.wsgi, so that its
// relative imports work; a file outside the tree is a module of its own.
func appFile(path string) (app App, dir string, err error) {
	stem, ok := strings.CutSuffix(path, ".py")
	if !ok {
		return app, "", errors.New("write the file with its .py, or the module with dots")
	}
	clean := filepath.ToSlash(filepath.Clean(stem))
	module := strings.ReplaceAll(clean, "/", ".")
	if filepath.IsLocal(stem) && isDotted(module) {
		return App{Module: module, Path: path}, "", nil
	}
	name := filepath.Base(clean)
	if !isDotted(name) || strings.Contains(name, ".") {
		return app, "", errors.New("give the file a name that Python can import")
	}
	return App{Module: name, Path: path}, filepath.Dir(path), nil
}

// isDotted tells whether s is made of Python names with dots between them.
// Letters beyond ASCII pass; Python has the last word on them.
func isDotted(s string) bool {
	for name := range strings.SplitSeq(s, ".") {
		if name == "" || name[0] >= '0' && name[0] <= '9' {
			return false
		}
		for _, r := range name {
			if r < 0x80 && r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') {
				return false
			}
		}
	}
	return true
}

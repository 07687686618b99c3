// SPDX-License-Identifier: MIT

// Package wheel writes Python's binary package format (PEP 427) and says on which
// systems compiled files run (PEP 600).
//
// A wheel is a zip: the files to be installed, then a folder .dist-info with
// METADATA, WHEEL, the licences, the entry points and RECORD, which has the sum of
// everything before it. The same files at the same time give the same bytes.
//
// The package compiles nothing and knows nothing of m0serve.
package wheel

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// Modes of the files of a wheel; pip keeps the executable bit and nothing else.
const (
	plain      fs.FileMode = 0o644
	executable fs.FileMode = 0o755
)

// A Wheel is what is to be packed.
type Wheel struct {
	Name    string // of the project; letters, digits and underscores
	Version string // PEP 440: no leading v
	Tag     string // Python, ABI and platform: py3-none-any

	Metadata    []Field // beside Metadata-Version, Name and Version
	Description string  // Markdown, the body of METADATA
	Scripts     []Script
	Licences    []File // names below .dist-info/licenses
	Files       []File // names as they are below site-packages
}

// A Field is one header of METADATA.
type Field struct{ Name, Value string }

// A Script is a command that the installer makes: Name calls Call, "package:function".
type Script struct{ Name, Call string }

// A File is one file of the wheel.
type File struct {
	Name       string // with slashes
	Executable bool
	Data       []byte
}

// FileName is the name that an installer expects the wheel to have.
func (w *Wheel) FileName() string {
	return w.Name + "-" + w.Version + "-" + w.Tag + ".whl"
}

// Write writes the wheel; every file in it has the time at, which a zip keeps from
// 1980 on.
func (w *Wheel) Write(out io.Writer, at time.Time) error {
	z := zip.NewWriter(out)
	info := w.Name + "-" + w.Version + ".dist-info/"
	var record strings.Builder
	for _, f := range w.all(info) {
		if strings.ContainsAny(f.Name, ",\"\n") {
			return fmt.Errorf("wheel: %q: such a name cannot stand in RECORD", f.Name)
		}
		if err := add(z, f, at); err != nil {
			return err
		}
		sum := sha256.Sum256(f.Data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.Name,
			base64.RawURLEncoding.EncodeToString(sum[:]), len(f.Data))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	if err := add(z, File{Name: info + "RECORD", Data: []byte(record.String())}, at); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("wheel: %w", err)
	}
	return nil
}

// all lists everything but RECORD, which comes last as installers like it.
func (w *Wheel) all(info string) []File {
	files := append([]File(nil), w.Files...)
	for _, l := range w.Licences {
		files = append(files, File{Name: info + "licenses/" + l.Name, Data: l.Data})
	}
	return append(files,
		File{Name: info + "METADATA", Data: w.metadata()},
		File{Name: info + "WHEEL", Data: w.wheel()},
		File{Name: info + "entry_points.txt", Data: w.entryPoints()})
}

func (w *Wheel) metadata() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "Metadata-Version: 2.1\nName: %s\nVersion: %s\n", w.Name, w.Version)
	for _, f := range w.Metadata {
		fmt.Fprintf(&b, "%s: %s\n", f.Name, f.Value)
	}
	fmt.Fprintf(&b, "Description-Content-Type: text/markdown\n\n%s", w.Description)
	return []byte(b.String())
}

// wheel says that the files belong to one platform, whatever the Python.
func (w *Wheel) wheel() []byte {
	return fmt.Appendf(nil, "Wheel-Version: 1.0\nGenerator: m0serve.dev/tools\n"+
		"Root-Is-Purelib: false\nTag: %s\n", w.Tag)
}

func (w *Wheel) entryPoints() []byte {
	b := []byte("[console_scripts]\n")
	for _, s := range w.Scripts {
		b = fmt.Appendf(b, "%s = %s\n", s.Name, s.Call)
	}
	return b
}

func add(z *zip.Writer, f File, at time.Time) error {
	h := &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: at.UTC()}
	h.SetMode(plain)
	if f.Executable {
		h.SetMode(executable)
	}
	w, err := z.CreateHeader(h)
	if err == nil {
		_, err = w.Write(f.Data)
	}
	if err != nil {
		return fmt.Errorf("wheel: %s: %w", f.Name, err)
	}
	return nil
}

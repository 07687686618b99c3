// SPDX-License-Identifier: MIT

package wheel

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func sample() *Wheel {
	return &Wheel{
		Name: "shop", Version: "1.2.0", Tag: "py3-none-manylinux_2_34_x86_64",
		Metadata:    []Field{{"Summary", "sells"}, {"Requires-Python", ">=3.9"}},
		Description: "# shop\n",
		Scripts:     []Script{{"shop", "shop:main"}},
		Licences:    []File{{Name: "LICENSE", Data: []byte("MIT\n")}},
		Files: []File{
			{Name: "shop/__init__.py", Data: []byte("main = print\n")},
			{Name: "shop/bin/shop", Executable: true, Data: bytes.Repeat([]byte("ELF"), 9999)},
		},
	}
}

// pack writes the wheel and reads it again.
func pack(t *testing.T, w *Wheel, at time.Time) ([]byte, *zip.Reader) {
	t.Helper()
	var b bytes.Buffer
	if err := w.Write(&b, at); err != nil {
		t.Fatalf("Write = %v, want nil", err)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), z
}

func text(t *testing.T, f *zip.File) string {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWheelHasWhatInstallersRead(t *testing.T) {
	w := sample()
	if got, want := w.FileName(), "shop-1.2.0-py3-none-manylinux_2_34_x86_64.whl"; got != want {
		t.Errorf("FileName() = %s, want %s", got, want)
	}
	const info = "shop-1.2.0.dist-info/"
	want := map[string]string{
		"shop/__init__.py":        "main = print\n",
		"shop/bin/shop":           strings.Repeat("ELF", 9999),
		info + "licenses/LICENSE": "MIT\n",
		info + "METADATA": "Metadata-Version: 2.1\nName: shop\nVersion: 1.2.0\nSummary: sells\n" +
			"Requires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n# shop\n",
		info + "WHEEL": "Wheel-Version: 1.0\nGenerator: m0serve.dev/tools\n" +
			"Root-Is-Purelib: false\nTag: py3-none-manylinux_2_34_x86_64\n",
		info + "entry_points.txt": "[console_scripts]\nshop = shop:main\n",
	}
	_, z := pack(t, w, time.Unix(1e9, 0))
	record := ""
	for i, f := range z.File {
		mode := "-rw-r--r--"
		if f.Name == "shop/bin/shop" {
			mode = "-rwxr-xr-x"
		}
		if got := f.Mode().String(); got != mode {
			t.Errorf("mode of %s = %s, want %s", f.Name, got, mode)
		}
		got := text(t, f)
		if i == len(z.File)-1 {
			if f.Name != info+"RECORD" || got != record+info+"RECORD,,\n" {
				t.Errorf("the last file %s =\n%s, want RECORD\n%s", f.Name, got, record)
			}
			break
		}
		if got != want[f.Name] {
			t.Errorf("%s = %q, want %q", f.Name, got, want[f.Name])
		}
		delete(want, f.Name)
		sum := sha256.Sum256([]byte(got))
		record += fmt.Sprintf("%s,sha256=%s,%d\n", f.Name,
			strings.TrimRight(base64.URLEncoding.EncodeToString(sum[:]), "="), len(got))
	}
	for name := range want {
		t.Errorf("the wheel has no %s", name)
	}
}

// TestSameFilesSameBytes: the time of the build and the zone of the machine are not
// in the wheel; the time given is.
func TestSameFilesSameBytes(t *testing.T) {
	at := time.Unix(1700000000, 0)
	one, z := pack(t, sample(), at)
	two, _ := pack(t, sample(), at.In(time.FixedZone("far", 5*3600)))
	if !bytes.Equal(one, two) {
		t.Errorf("Write twice: %x and %x, want the same bytes", sha256.Sum256(one), sha256.Sum256(two))
	}
	for _, f := range z.File {
		if !f.Modified.Equal(at) {
			t.Errorf("time of %s = %v, want %v", f.Name, f.Modified, at)
		}
	}
}

func TestNamesThatRecordCannotHoldAreRefused(t *testing.T) {
	w := sample()
	w.Files = append(w.Files, File{Name: "shop/a,b.py"})
	err := w.Write(io.Discard, time.Unix(1e9, 0))
	if err == nil || !strings.Contains(err.Error(), `"shop/a,b.py"`) {
		t.Errorf("Write with a comma in a name = %v, want it refused", err)
	}
}

// SPDX-License-Identifier: MIT

package examine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"m0serve.dev/http/config/diagnosis"
)

// TestWhatAStartWouldTripOver is seen by a doctor.
func TestWhatAStartWouldTripOver(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		look    func(*diagnosis.Report, string)
		setting string
		mark    diagnosis.Mark
		words   string
	}{
		{Database, write("empty", ""), diagnosis.Good, "empty"},
		{Database, write("shop.db", "SQLite format 3\x00\x10"), diagnosis.Good, "shop.db"},
		{Database, write("letter", "Dear Ann"), diagnosis.Problem, "is not an SQLite database"},
		{Database, write("novel", strings.Repeat("Dear Ann", 9)), diagnosis.Problem, "is not an SQLite"},
		{Database, dir, diagnosis.Problem, "is no file"},
		{Database, filepath.Join(dir, "new"), diagnosis.Note, "will be made"},
		{Database, filepath.Join(dir, "no", "new"), diagnosis.Problem, "that does not exist"},
		{Client, "", diagnosis.Note, "pinned"},
		{Client, "https://cdn.example/d.js", diagnosis.Good, "https://cdn.example/d.js"},
		{Client, write("d.js", "//"), diagnosis.Good, "d.js"},
		{Client, dir, diagnosis.Problem, "neither a URL nor a file"},
		{Client, filepath.Join(dir, "gone.js"), diagnosis.Problem, "neither a URL nor a file"},
	} {
		var r diagnosis.Report
		c.look(&r, c.setting)
		l := r.Lines[0]
		if len(r.Lines) != 1 || l.Mark != c.mark || !strings.Contains(l.Text, c.words) ||
			(l.Cure == "") != (c.mark != diagnosis.Problem) {
			t.Errorf("examined %s = %+v; want mark %d and %q", c.setting, r.Lines, c.mark, c.words)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("the doctor made the database")
	}
}

// SPDX-License-Identifier: MIT

package prove

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// VulnSource is the module whose folder data/osv holds the reports that
// vuln.go.dev serves.
const VulnSource = "golang.org/x/vulndb"

// osvEntry is what the index of a database takes from a report, see
// https://go.dev/doc/security/vuln/database.
type osvEntry struct {
	ID        string    `json:"id"`
	Modified  time.Time `json:"modified"` // not set in the module
	Withdrawn *string   `json:"withdrawn"`
	Aliases   []string  `json:"aliases"`
	Affected  []struct {
		Package struct {
			Name string `json:"name"`
		} `json:"package"`
		Ranges []struct {
			Events []struct {
				Fixed string `json:"fixed"`
			} `json:"events"`
		} `json:"ranges"`
	} `json:"affected"`
}

type vulnOfModule struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Fixed    string    `json:"fixed,omitempty"`
}

type moduleVulns struct {
	Path  string         `json:"path"`
	Vulns []vulnOfModule `json:"vulns"`
}

type vulnAliases struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Aliases  []string  `json:"aliases,omitempty"`
}

// MakeVulnDB makes a database that govulncheck reads with -db file://DIR, of the
// reports in a folder. It returns how many there are.
func MakeVulnDB(reports, dir string) (n int, err error) {
	files, err := filepath.Glob(filepath.Join(reports, "GO-*.json"))
	if err != nil || len(files) == 0 {
		return 0, errors.Join(err, fmt.Errorf("prove: no reports in %s", reports))
	}
	if err := os.MkdirAll(filepath.Join(dir, "ID"), 0o755); err != nil {
		return 0, err
	}
	modules, vulns := map[string][]vulnOfModule{}, []vulnAliases{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		var e osvEntry
		if err := json.Unmarshal(text, &e); err != nil {
			return 0, fmt.Errorf("prove: %s: %w", file, err)
		}
		if e.Withdrawn != nil {
			continue
		}
		e.addTo(modules)
		vulns = append(vulns, vulnAliases{e.ID, e.Modified, e.Aliases})
		if err := os.WriteFile(filepath.Join(dir, "ID", e.ID+".json"), text, 0o644); err != nil {
			return 0, err
		}
	}
	return len(vulns), writeIndex(dir, modules, vulns)
}

// addTo notes a report under each module that it is about, with the version that
// ends it: none where a range is open, or where its entries do not agree.
func (e *osvEntry) addTo(modules map[string][]vulnOfModule) {
	fixed := map[string]string{}
	for _, a := range e.Affected {
		last := ""
		for _, r := range a.Ranges {
			for _, event := range r.Events {
				last = event.Fixed // empty for the event that opens a range
			}
		}
		if was, seen := fixed[a.Package.Name]; seen && was != last {
			last = ""
		}
		fixed[a.Package.Name] = last
	}
	for name, version := range fixed {
		modules[name] = append(modules[name], vulnOfModule{e.ID, e.Modified, version})
	}
}

func writeIndex(dir string, modules map[string][]vulnOfModule, vulns []vulnAliases) error {
	var list []moduleVulns
	for name, of := range modules {
		list = append(list, moduleVulns{name, of})
	}
	slices.SortFunc(list, func(a, b moduleVulns) int { return cmp.Compare(a.Path, b.Path) })
	if err := os.MkdirAll(filepath.Join(dir, "index"), 0o755); err != nil {
		return err
	}
	for name, v := range map[string]any{
		"db": map[string]any{"modified": time.Time{}}, "modules": list, "vulns": vulns,
	} {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "index", name+".json"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A Vuln is a vulnerability of something that is used.
type Vuln struct {
	ID, Where, Fixed string   // Where is module@version; Fixed is a version, or "no version"
	Called           []string // our modules that call its code
	Present          []string // our modules that have it, and do not call it
}

// String is the line about it.
func (v *Vuln) String() string {
	who := "called by " + strings.Join(v.Called, ", ")
	if len(v.Called) == 0 {
		who = "not called; in " + strings.Join(v.Present, ", ")
	}
	return fmt.Sprintf("%s in %s, fixed in %s: %s", v.ID, v.Where, v.Fixed, who)
}

// Vulns are those that were found, by id.
type Vulns map[string]*Vuln

// Add reads what govulncheck -format json said about one of our modules. Saying
// nothing at all is an error: such a scanner has found nothing out.
func (v Vulns) Add(module, out string) error {
	if strings.TrimSpace(out) == "" {
		return errors.New("prove: govulncheck said nothing")
	}
	called := map[string]bool{}
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var m struct {
			Finding *struct {
				OSV   string `json:"osv"`
				Fixed string `json:"fixed_version"`
				Trace []struct{ Module, Version, Function string }
			}
		}
		if err := d.Decode(&m); err != nil {
			return fmt.Errorf("prove: govulncheck: %w", err)
		}
		if m.Finding == nil || len(m.Finding.Trace) == 0 {
			continue
		}
		f := m.Finding
		called[f.OSV] = called[f.OSV] || f.Trace[0].Function != ""
		if v[f.OSV] == nil {
			v[f.OSV] = &Vuln{ID: f.OSV, Where: f.Trace[0].Module + "@" + f.Trace[0].Version,
				Fixed: cmp.Or(f.Fixed, "no version")}
		}
	}
	for id, is := range called {
		if is {
			v[id].Called = append(v[id].Called, module)
		} else {
			v[id].Present = append(v[id].Present, module)
		}
	}
	return nil
}

// Sorted are those that are called, and then the others, each by id.
func (v Vulns) Sorted() (called, present []*Vuln) {
	for _, id := range slices.Sorted(maps.Keys(v)) {
		if len(v[id].Called) > 0 {
			called = append(called, v[id])
		} else {
			present = append(present, v[id])
		}
	}
	return called, present
}

// SPDX-License-Identifier: MIT

// Package sbom writes the list of what our modules are made of, as CycloneDX 1.5 in
// JSON (ECMA-424), and says which licences it is under. The same components give the
// same bytes: there is no serial number and no time in it.
package sbom

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// A Component is a module, ours or another's.
type Component struct {
	Path, Version string
	Licences      []string // SPDX identifiers
	Sum           string   // of go.sum, "" for ours and for the standard library
	Tests         bool     // only tests need it
	Uses          []string // paths of the modules that it is compiled with
}

// purl is the package URL.
func (c *Component) purl() string {
	name := "pkg:golang/" + c.Path
	if c.Version == "" {
		return name
	}
	return name + "@" + url.PathEscape(c.Version)
}

// Parts of the format, in the order it has them.
type (
	document struct {
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type       string         `json:"type"`
		Ref        string         `json:"bom-ref"`
		Name       string         `json:"name"`
		Version    string         `json:"version,omitempty"`
		Scope      string         `json:"scope,omitempty"`
		Licences   []licenceEntry `json:"licenses,omitempty"`
		PURL       string         `json:"purl,omitempty"`
		Properties []property     `json:"properties,omitempty"`
	}
	licenceEntry struct {
		Expression string `json:"expression"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn"`
	}
)

// Write returns the document of the product called name.
func Write(name, version string, components []Component) ([]byte, error) {
	d := document{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{component{
		Type: "application", Ref: name, Name: name, Version: version}}}
	components = slices.Clone(components)
	slices.SortFunc(components, func(a, b Component) int { return strings.Compare(a.Path, b.Path) })
	ref := map[string]string{}
	for _, c := range components {
		ref[c.Path] = c.purl()
	}
	for _, c := range components {
		d.Components = append(d.Components, c.entry())
		on := dependency{Ref: c.purl(), On: []string{}}
		for _, path := range c.Uses {
			if ref[path] != "" {
				on.On = append(on.On, ref[path])
			}
		}
		slices.Sort(on.On)
		d.Dependencies = append(d.Dependencies, on)
	}
	text, err := json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}

func (c *Component) entry() component {
	e := component{Type: "library", Ref: c.purl(), Name: c.Path, Version: c.Version,
		Scope: "required", PURL: c.purl()}
	if c.Tests {
		e.Scope = "excluded"
	}
	if len(c.Licences) > 0 {
		e.Licences = []licenceEntry{{strings.Join(c.Licences, " AND ")}}
	}
	if c.Sum != "" {
		e.Properties = []property{{"go:sum", c.Sum}}
	}
	return e
}

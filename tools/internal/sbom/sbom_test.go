// SPDX-License-Identifier: MIT

package sbom

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestIdentify(t *testing.T) {
	const (
		mit    = "Permission is hereby granted, free of\n charge, to any person obtaining a copy"
		bsd2   = "Redistributions in binary form must reproduce the above\ncopyright notice"
		bsd3   = bsd2 + "\nmay be used to endorse or promote\nproducts derived"
		apache = "  Apache License\n  Version 2.0, January 2004\n"
	)
	for _, tt := range []struct{ text, want, why string }{
		{mit, "MIT", ""}, {bsd2, "BSD-2-Clause", ""}, {bsd3, "BSD-3-Clause", ""},
		{apache, "Apache-2.0", ""}, {bsd3 + mit + apache, "Apache-2.0 BSD-3-Clause MIT", ""},
		{"Permission to use, copy, modify, and/or distribute this software for any purpose", "ISC", ""},
		{"GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007", "GPL-3.0", "is under GPL-3.0"},
		{mit + "Mozilla Public License Version 2.0", "MIT MPL-2.0", "is under MPL-2.0"},
		{"all rights reserved", "", "not known"}, {"", "", "not known"},
	} {
		got := Identify(tt.text)
		if strings.Join(got, " ") != tt.want {
			t.Errorf("Identify(%q) = %q, want %s", tt.text, got, tt.want)
		}
		err := Check("x", got)
		if (err == nil) != (tt.why == "") || err != nil && !strings.Contains(err.Error(), tt.why) {
			t.Errorf("Check(%q) = %v, want %q", got, err, tt.why)
		}
	}
}

func TestWrite(t *testing.T) {
	list := []Component{
		{Path: "m.dev/b", Version: "v1.0.0+x", Licences: []string{"BSD-3-Clause", "MIT"}, Sum: "h1:x="},
		{Path: "m.dev/a", Uses: []string{"m.dev/b", "m.dev/gone"}, Licences: []string{"MIT"}},
		{Path: "m.dev/t", Version: "v2.0.0", Tests: true, Licences: []string{"MIT"}},
	}
	got, err := Write("m0", "v0.1.0", list)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"bomFormat": "CycloneDX"`, `"specVersion": "1.5"`, `"expression": "BSD-3-Clause AND MIT"`,
		`"purl": "pkg:golang/m.dev/b@v1.0.0+x"`, `"scope": "excluded"`, `"value": "h1:x="`,
		"\"ref\": \"pkg:golang/m.dev/a\",\n      \"dependsOn\": [\n        \"pkg:golang/m.dev/b@",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("Write has no %s in\n%s", want, got)
		}
	}
	slices.Reverse(list)
	if again, _ := Write("m0", "v0.1.0", list); !bytes.Equal(again, got) {
		t.Error("another order of components gives other bytes")
	}
}

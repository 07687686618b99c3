// SPDX-License-Identifier: MIT

package interpreter

import (
	"reflect"
	"testing"

	"m0serve.dev/wsgi/internal/options"
)

func TestConfigOfOptions(t *testing.T) {
	env := map[string]string{"M0_PYTHON": "python3.12"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	o, err := options.Parse([]string{"m:a", "--venv", "/v", "--chdir", "/", "-e", "A=2"}, lookup)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{Python: "python3.12", PythonOrigin: "$M0_PYTHON", Venv: "/v",
		VenvOrigin: "--venv", Dir: "/", Environ: []string{"A=1", "M0_SERVE_PYTHON=/own/python", "A=2"},
		Command: "/bin/m0serve", Own: "/own/python"}
	base := []string{"A=1", "M0_SERVE_PYTHON=/own/python"}
	if got := ConfigOf(&o, base, "/bin/m0serve"); !reflect.DeepEqual(got, want) {
		t.Errorf("ConfigOf = %+v; want %+v", got, want)
	}
}

// SPDX-License-Identifier: MIT

package interpreter

import "m0serve.dev/wsgi/internal/options"

// envOwn is how the script that pip makes tells which Python it is of.
const envOwn = "M0_SERVE_PYTHON"

// ConfigOf says where to look for the Python of the options. base is the
// environment of this process, command its executable.
func ConfigOf(o *options.Options, base []string, command string) Config {
	c := Config{
		Python: o.Python, PythonOrigin: o.Source("python").String(),
		Venv: o.Venv, VenvOrigin: o.Source("venv").String(),
		Dir: o.Chdir, Environ: o.Environ(base), Command: command,
	}
	c.Own = c.getenv(envOwn)
	return c
}

// SPDX-License-Identifier: MIT

package doctor

import (
	"bytes"
	"context"
	_ "embed" // for the script
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"m0serve.dev/wsgi/internal/interpreter"
	"m0serve.dev/wsgi/internal/options"
	"m0serve.dev/wsgi/python"
)

//go:embed check.py
var checkScript string

const (
	// answerMarker opens the line with the answer, beside what the application prints.
	answerMarker = "m0serve-doctor"
	// importTimeout bounds the import of the application.
	importTimeout = 30 * time.Second
	// importOutput bounds what is kept of the application's own output.
	importOutput = 1 << 20
)

// imported is what the script found.
type imported struct {
	Interface, Class            string
	Framework, FrameworkVersion string
	Seconds                     float64
	DjangoDebug                 bool

	// When the import failed.
	Type, Message, Trace string
	Missing              string // the module that is not there
	Exit                 bool   // it was a SystemExit
	File                 string // of the last frame of the user's own code
	Line                 int
	Function, Text       string
}

// importApp imports the application in a child process, as a worker would.
func importApp(ctx context.Context, c *Config, py *interpreter.Python) (*imported, error) {
	worker, err := python.Source("worker")
	if err != nil {
		return nil, err
	}
	request, err := json.Marshal(struct {
		Marker, Worker string
		Options        options.Options
	}{answerMarker, worker, c.Options})
	if err != nil {
		return nil, err
	}
	bound := c.ImportTimeout
	if bound == 0 {
		bound = importTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	cmd := exec.CommandContext(ctx, py.Executable, "-c", checkScript)
	cmd.Dir, cmd.Env = c.Options.Chdir, c.Options.Environ(c.Environ)
	cmd.Stdin = bytes.NewReader(request)
	out, errs := &tail{most: importOutput}, &tail{most: importOutput}
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.WaitDelay = time.Second
	endWithChildren(cmd)
	err = cmd.Run()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("it was not imported within %v", bound)
	}
	for line := range strings.Lines(out.String()) {
		answer, ok := strings.CutPrefix(line, answerMarker+" ")
		if found := new(imported); ok && json.Unmarshal([]byte(answer), found) == nil {
			return found, nil
		}
	}
	reason := "it ended the process"
	if err != nil {
		reason += fmt.Sprintf(" (%v)", err)
	}
	if text := strings.TrimSpace(errs.String()); text != "" {
		lines := strings.Split(text, "\n")
		reason += ": " + strings.TrimSpace(lines[len(lines)-1])
	}
	return nil, fmt.Errorf("%s", reason)
}

// tail keeps the last bytes that are written to it.
type tail struct {
	bytes.Buffer
	most int
}

// Write implements io.Writer and never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.Buffer.Write(b[max(0, len(b)-t.most):])
	if over := t.Len() - t.most; over > 0 {
		t.Next(over)
	}
	return len(b), nil
}

// application reports on the import.
func (r *Report) application(ctx context.Context, c *Config, py *interpreter.Python) {
	const section = "Application"
	o := &c.Options
	if o.App.Module == "" {
		r.Add(section, Problem, "application", "none was given", guessApp(o.Chdir))
		return
	}
	if py == nil {
		r.Add(section, Note, o.App.String(), "not looked at, without a Python", "")
		return
	}
	found, err := importApp(ctx, c, py)
	switch {
	case err != nil:
		r.Add(section, Problem, o.App.String(), err.Error(), "import it by hand: "+py.Executable+
			" -c 'import "+o.App.Module+"'")
	case found.Type != "":
		r.importError(o, py, found)
	default:
		r.importedApp(o, found)
	}
}

func (r *Report) importedApp(o *options.Options, found *imported) {
	const section = "Application"
	what := strings.ToUpper(found.Interface)
	if found.Framework != "" {
		what += ", " + strings.TrimSpace(found.Framework+" "+found.FrameworkVersion)
	}
	r.Add(section, Good, o.App.String(), fmt.Sprintf("%s; a %s, imported in %.2f s",
		what, found.Class, found.Seconds), "")
	if o.Interface != "auto" && o.Interface != found.Interface {
		r.Add(section, Warning, "interface", fmt.Sprintf("%s says %s, and the application looks "+
			"like %s", o.Source("interface"), o.Interface, strings.ToUpper(found.Interface)),
			"leave it out, unless you know better")
	}
	if o.Validate && found.Interface == "asgi" {
		r.Add(section, Warning, "validate", "it checks WSGI alone", "leave it out")
	}
	if found.DjangoDebug {
		r.Add(section, Warning, "DEBUG", "Django's settings have DEBUG = True: error pages show "+
			"the settings, and every query is recorded", "set DEBUG = False where others connect")
	}
}

// importError reports an import that failed, with the place in the user's code.
func (r *Report) importError(o *options.Options, py *interpreter.Python, found *imported) {
	const section = "Application"
	text := found.Type + ": " + found.Message
	switch {
	case found.Exit && found.File == "": // our own words for what is not there
		r.Add(section, Problem, o.App.String(), found.Message, "name an application that is there")
		return
	case found.Exit:
		text = "it ends the process while it is imported (SystemExit " + found.Message + ")"
	}
	if found.File != "" {
		text += fmt.Sprintf("\nat %s:%d", found.File, found.Line)
		if found.Function != "" && found.Function != "<module>" {
			text += " in " + found.Function
		}
		if found.Text != "" {
			text += "\n   " + found.Text
		}
	}
	r.Add(section, Problem, o.App.String(), text, importCure(py, found))
	if found.File == "" {
		r.last().Text += "\n" + strings.TrimSpace(found.Trace)
	}
}

// distributions are packages whose name is not that of their module.
var distributions = map[string]string{
	"yaml": "PyYAML", "PIL": "Pillow", "dotenv": "python-dotenv", "jwt": "PyJWT",
	"environ": "django-environ", "rest_framework": "djangorestframework",
	"corsheaders": "django-cors-headers", "cv2": "opencv-python", "bs4": "beautifulsoup4",
	"sklearn": "scikit-learn", "dateutil": "python-dateutil", "MySQLdb": "mysqlclient",
	"psycopg": "psycopg[binary]", "attr": "attrs", "multipart": "python-multipart",
}

func importCure(py *interpreter.Python, found *imported) string {
	switch {
	case found.Missing != "":
		root, _, _ := strings.Cut(found.Missing, ".")
		name := root
		if d := distributions[root]; d != "" {
			name = d
		}
		cure := "install it: " + py.Executable + " -m pip install '" + name + "'"
		if py.Venv() == "" {
			cure += "; or name the virtual environment that has it with --venv"
		}
		return cure
	case found.Type == "ImproperlyConfigured" &&
		strings.Contains(found.Message, "DJANGO_SETTINGS_MODULE"):
		return "set it: -e DJANGO_SETTINGS_MODULE=mysite.settings"
	case found.Type == "KeyError" && strings.Contains(found.Text, "environ"):
		return "set the variable " + found.Message + ", with -e or --env-file"
	}
	return "mend it there"
}

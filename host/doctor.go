// SPDX-License-Identifier: MIT

package host

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"m0serve.dev/http/config"
	"m0serve.dev/http/config/diagnosis"
	"m0serve.dev/http/publish"
)

// examine is what --doctor prints: what would be served and every problem with
// its cure. It listens for a moment and builds nothing of the application.
func (o *options) examine(wrong error) *diagnosis.Report {
	r := &diagnosis.Report{Title: o.app.name() + " " + version()}
	o.refused = make(map[string]bool) // what is wrong is shown at the end
	for _, e := range config.Problems(wrong) {
		o.refused[e.Var] = true
	}
	o.address(r)
	o.encryption(r)
	o.processes(r)
	o.limits(r)
	o.realtime(r)
	if o.app.Doctor != nil {
		o.app.Doctor(&o.cfg, r)
	}
	o.report(r, wrong)
	return r
}

// from is " ($M0_PORT)", " (default)", or " (see below)" of what is refused.
func (o *options) from(env string) string {
	switch source := o.source(env); {
	case source == "":
		return " (default)"
	case o.refused[strings.TrimPrefix(source, "$")]:
		return " (see below)"
	default:
		return " (" + source + ")"
	}
}

func (o *options) address(r *diagnosis.Report) {
	const section = "Address"
	at := net.JoinHostPort(o.cfg.Host, strconv.Itoa(o.cfg.Port))
	url := o.scheme() + "://" + at
	r.URLs = append(r.URLs, url)
	env := "M0_PORT"
	if o.source(env) == "" {
		env = "M0_HOST"
	}
	if problem, cure := diagnosis.TryListen(at, "--port"); problem != "" {
		r.Add(section, diagnosis.Problem, url, problem, cure)
		return
	}
	r.Add(section, diagnosis.Good, url, "free"+o.from(env), "")
}

// soon is when a certificate that expires is worth a word.
const soon = 14 * 24 * time.Hour

func (o *options) encryption(r *diagnosis.Report) {
	const section = "TLS"
	c := o.certificate
	if c == nil {
		if o.cfg.TLSCert == "" && o.cfg.TLSKey == "" {
			r.Add(section, diagnosis.Note, "certificate",
				"none: plain HTTP/1.1, and a browser opens six connections for all its tabs", "")
		}
		return // half a pair is a problem of the settings
	}
	leaf := c.pair.Leaf
	names := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	left := leaf.NotAfter.Sub(c.now())
	text := fmt.Sprintf("%s; for %s, until %s", c.certFile, strings.Join(names, ", "),
		leaf.NotAfter.Format(time.DateOnly))
	if left < soon {
		r.Add(section, diagnosis.Warning, "certificate", text, "renew it; the new files are read "+
			"without a restart")
	} else {
		r.Add(section, diagnosis.Good, "certificate", text, "")
	}
	if info := c.seen[1]; info != nil && info.Mode().Perm()&0o007 != 0 {
		r.Add(section, diagnosis.Warning, "key", c.keyFile+" may be read by everybody",
			"chmod o= "+c.keyFile)
		return
	}
	r.Add(section, diagnosis.Good, "key", c.keyFile, "")
}

func (o *options) processes(r *diagnosis.Report) {
	const section = "Processes"
	note := func(label, text, env string) {
		r.Add(section, diagnosis.Note, label, text+o.from(env), "")
	}
	workers := strconv.Itoa(o.cfg.Workers)
	if o.cfg.Workers > 1 {
		workers += " and a supervisor"
		if !o.cfg.AcceptShare {
			workers += ", which do not even out connections"
		}
	}
	note("workers", workers, "M0_WORKERS")
	if o.certificate == nil {
		note("loops", fmt.Sprintf("%d in each worker", o.cfg.Threads), "M0_THREADS")
		blocking := o.cfg.BlockingThreads
		if blocking == 0 {
			blocking = 1024
		}
		note("handlers", fmt.Sprintf("%d of a worker may block at once;\n"+
			"beyond, 4096 requests wait in order, and further ones get 503", blocking),
			"M0_BLOCKING_THREADS")
	} else {
		r.Add(section, diagnosis.Note, "handlers", "a goroutine each, by net/http", "")
	}
	note("drain", fmt.Sprintf("%g s at most", o.cfg.Drain.Seconds()), "M0_DRAIN_S")
}

func (o *options) limits(r *diagnosis.Report) {
	const section = "Limits"
	r.Descriptors(o.cfg.MaxConns, o.source("M0_MAX_CONNS"), "--max-conns")
	body := fmt.Sprintf("%d bytes", o.cfg.MaxBody)
	if o.cfg.MaxBody == 0 {
		body = "of any size"
	}
	r.Add(section, diagnosis.Note, "bodies", body+o.from("M0_MAX_BODY"), "")
	r.Add(section, diagnosis.Note, "heads",
		fmt.Sprintf("%d bytes%s", o.cfg.MaxHead, o.from("M0_MAX_HEAD")), "")
}

func (o *options) realtime(r *diagnosis.Report) {
	const section = "Realtime"
	r.Add(section, diagnosis.Note, "journal", fmt.Sprintf("%d events of each channel%s",
		o.cfg.Journal, o.from("M0_JOURNAL")), "")
	const label = "publishing"
	switch path := o.cfg.PublishSocket; path {
	case publish.Off:
		r.Add(section, diagnosis.Note, label, "none"+o.from(publish.Env), "")
	case "":
		r.Add(section, diagnosis.Note, label,
			"a socket that m0pub finds by the working directory (default)", "")
	default:
		_, err := publish.Look(publish.ListenConfig{Path: path})
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			r.Add(section, diagnosis.Problem, label, err.Error(), publish.ListenCure)
			return
		}
		r.Add(section, diagnosis.Good, label, path+o.from(publish.Env), "")
	}
}

// report lists what was given and was not shown above, and what cannot be
// honoured.
func (o *options) report(r *diagnosis.Report, wrong error) {
	const section = "Settings"
	for _, g := range o.given {
		s := g.Setting
		switch s.Group {
		case "Listening", "Processes", "Limits", "Realtime", "Checks":
			continue
		}
		if o.refused[strings.TrimPrefix(g.Source, "$")] {
			continue
		}
		value := g.Value
		if s.Secret {
			value = "given"
		}
		r.Add(section, diagnosis.Note, cmp.Or(s.Flag, s.Env), value+" ("+g.Source+")", "")
	}
	for _, e := range o.misspelt() {
		r.Add(section, diagnosis.Warning, "", e.Subject(), e.Cure)
	}
	for _, e := range config.Problems(wrong) {
		r.Add(section, diagnosis.Problem, "", e.Subject(), e.Cure)
	}
	if len(o.given) == 1 && wrong == nil { // --doctor itself
		r.Add(section, diagnosis.Note, "all", "at their defaults; see --help", "")
	}
}

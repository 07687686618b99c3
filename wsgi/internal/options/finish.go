// SPDX-License-Identifier: MIT

package options

import (
	"errors"
	"os/user"
	"strconv"
	"strings"

	"m0serve.dev/http/config"
)

// finish puts together what several settings decide.
func (p *parser) finish() {
	p.finishApp()
	p.finishBinds()
	p.finishRealtime()
	p.finishPublish()
	p.finishProcesses()
}

// finishApp takes the one argument there may be, or a variable.
func (p *parser) finishApp() {
	given := occurrence{}
	switch {
	case len(p.arguments) > 0:
		given = p.arguments[0]
		for _, more := range p.arguments[1:] {
			p.refuse(nil, more, errors.New("leave it out; one application is served, "+
				strconv.Quote(given.value)))
		}
	default:
		for _, name := range []string{"M0_APP", "UVICORN_APP"} {
			if v, from, ok := p.env.lookup(name); ok {
				given = occurrence{v, from}
				break
			}
		}
	}
	if given.value == "" {
		p.missingApp()
		return
	}
	factory := p.o.App.Factory
	app, dir, err := parseApp(given.value)
	if err != nil {
		p.refuse(nil, given, err)
		return
	}
	if dir != "" {
		if abs, err := absolute(dir); err == nil {
			p.o.PythonPath = append([]string{abs}, p.o.PythonPath...)
		}
	}
	app.Factory = app.Factory || factory
	p.o.App = app
	p.o.Sources["app"] = given.from
}

// missingApp refuses to serve nothing. A doctor may look at the rest.
func (p *parser) missingApp() {
	if p.o.Doctor {
		return
	}
	e := &Error{Option: "application", Reason: "none was given",
		Cure: "name one, such as m0serve mysite.wsgi or m0serve main:app"}
	if s := p.swallowed; len(p.arguments) == 0 && strings.Contains(s.value, ":") {
		if _, _, err := parseApp(s.value); err == nil {
			e.Cure = s.from.Name + " took " + strconv.Quote(s.value) + " as its value: give it " +
				"one, or leave it out"
		}
	}
	p.wrong = append(p.wrong, e)
}

// finishBinds decides the addresses: a list (--bind, --uds, --fd) or one host
// and port, whichever comes from the better source.
func (p *parser) finishBinds() {
	list, single := 0, 0
	for _, name := range []string{"bind", "uds", "fd"} {
		list = max(list, p.rank(name))
	}
	for _, name := range []string{"host", "port"} {
		single = max(single, p.rank(name))
	}
	sockets := p.systemdSockets()
	switch {
	case len(sockets) > 0 && max(list, single) < 2:
		p.o.Binds = sockets
		p.o.Sources["bind"] = Source{Kind: FromEnv, Name: "LISTEN_FDS"}
		return
	case len(sockets) > 0:
		p.o.warn("LISTEN_FDS has no effect: addresses were given besides")
	}
	if list == 0 || list < single {
		p.bindHost()
		return
	}
	if list == 3 && single == 3 {
		p.refuseHost()
	} else if list == single {
		p.o.warn("host and port have no effect: " + p.listSource(list).String() +
			" gives the addresses")
	}
	p.bindList(list)
}

// systemdSockets are the sockets of systemd's protocol, when they are for us.
func (p *parser) systemdSockets() []Bind {
	pid, _, _ := p.env.lookup("LISTEN_PID")
	count, from, ok := p.env.lookup("LISTEN_FDS")
	if !ok || pid != strconv.Itoa(p.process.pid) {
		return nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > 1024 {
		p.refuse(nil, occurrence{count, from}, errors.New("let systemd set it"))
		return nil
	}
	var binds []Bind
	for i := range n {
		binds = append(binds, Bind{"fd", strconv.Itoa(3 + i)})
	}
	return binds
}

// bindHost listens on one host and port. A platform that says PORT wants every
// address (gunicorn does the same).
func (p *parser) bindHost() {
	host, port := "127.0.0.1", "8080"
	if given := p.choose(p.table.bySpelling["--port"]); len(given) > 0 {
		last := given[len(given)-1]
		port = last.value
		p.o.Sources["bind"] = last.from
		if last.from.Name == "PORT" {
			host = "0.0.0.0"
		}
	}
	if given := p.choose(p.table.bySpelling["--host"]); len(given) > 0 {
		last := given[len(given)-1]
		host = last.value
		if _, ok := p.o.Sources["bind"]; !ok || p.rank("host") > p.rank("port") {
			p.o.Sources["bind"] = last.from
		}
	}
	if config.IsHost(strings.Trim(host, "[]")) && isPort(port) {
		b, err := parseBind(hostPort(host, port), port)
		if err == nil {
			p.o.Binds = append(p.o.Binds, b)
		}
	}
}

func hostPort(host, port string) string {
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

// refuseHost refuses --host and --port beside --bind: which of them is meant?
func (p *parser) refuseHost() {
	for _, name := range []string{"host", "port"} {
		if p.rank(name) == 3 {
			p.wrong = append(p.wrong, &Error{Option: "--" + name, Source: p.o.Sources[name],
				Reason: p.listSource(3).String() + " gives the addresses",
				Cure:   "use one of the two"})
		}
	}
}

func (p *parser) listSource(rank int) Source {
	for _, name := range []string{"bind", "uds", "fd"} {
		if p.rank(name) == rank {
			return p.o.Sources[name]
		}
	}
	return Source{Kind: FromDefault}
}

// bindList listens on all addresses of the given rank.
func (p *parser) bindList(rank int) {
	port := "8080"
	if given := p.choose(p.table.bySpelling["--port"]); len(given) > 0 {
		port = given[len(given)-1].value
	}
	from := p.listSource(rank)
	for _, scheme := range []struct{ name, prefix string }{
		{"bind", ""}, {"uds", "unix:"}, {"fd", "fd://"},
	} {
		if p.rank(scheme.name) != rank {
			continue
		}
		for _, given := range p.choose(p.table.bySpelling["--"+scheme.name]) {
			items := []string{given.value}
			if scheme.prefix == "" {
				items = strings.Split(given.value, ",")
			}
			for _, item := range items {
				if item = strings.TrimSpace(item); item != "" { // checkBind has refused it
					p.addBind(scheme.prefix+item, port, given.from)
				}
			}
		}
	}
	p.o.Sources["bind"] = from
}

// addBind adds an address that checkBind has passed. The same one twice could
// only fail later, with less to say.
func (p *parser) addBind(v, port string, from Source) {
	b, err := parseBind(v, port)
	if err != nil {
		return
	}
	for _, other := range p.o.Binds {
		if other == b && !strings.HasSuffix(b.Address, ":0") {
			p.refuse(p.table.bySpelling["--bind"], occurrence{v, from},
				errors.New("name it once"))
			return
		}
	}
	p.o.Binds = append(p.o.Binds, b)
}

// finishRealtime refuses and names what hangs on --realtime.
func (p *parser) finishRealtime() {
	if p.o.Realtime {
		return
	}
	for _, door := range []string{"pg-listen", "publish-http"} {
		if p.has(door) {
			p.wrong = append(p.wrong, &Error{Option: "--" + door, Source: p.o.Sources[door],
				Reason: "there are no channels to publish to", Cure: "add --realtime"})
		}
	}
	if p.has("ws-origins") {
		p.o.warn(p.o.Sources["ws-origins"].String() + " has no effect without --realtime")
	}
}

// finishProcesses refuses identities that cannot be taken on.
func (p *parser) finishProcesses() {
	if p.o.MaxRequestsJitter > 0 && p.o.MaxRequests == 0 {
		p.o.warn(p.o.Sources["max-requests-jitter"].String() +
			" has no effect without --max-requests")
	}
	for _, id := range []struct {
		name, value string
		known       func(string) bool
	}{{"user", p.o.User, isUser}, {"group", p.o.Group, isGroup}} {
		if id.value == "" {
			continue
		}
		e := &Error{Option: "--" + id.name, Value: id.value, Source: p.o.Sources[id.name]}
		switch {
		case p.process.uid != 0:
			e.Reason = "only root can change the " + id.name
			e.Cure = "start m0serve as root, or as that " + id.name + " and without it"
		case !id.known(id.value):
			e.Cure = "name a " + id.name + " of this system"
		default:
			continue
		}
		p.wrong = append(p.wrong, e)
	}
}

func isUser(v string) bool {
	_, err := user.Lookup(v)
	_, errID := user.LookupId(v)
	return err == nil || errID == nil || isID(v)
}

func isGroup(v string) bool {
	_, err := user.LookupGroup(v)
	_, errID := user.LookupGroupId(v)
	return err == nil || errID == nil || isID(v)
}

// isID tells whether v is a number, which needs no entry of that name.
func isID(v string) bool {
	_, err := strconv.ParseUint(v, 10, 31)
	return err == nil
}

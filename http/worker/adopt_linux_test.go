// SPDX-License-Identifier: MIT

package worker

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/config"
	"m0serve.dev/http/internal/sys"
)

// handed makes what a supervisor hands to worker 1 of 2, in this very process,
// and the environment that names it.
func handed(t *testing.T) map[string]string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { ln.Close() })
	listener, err := ListenerFD(ln)
	must(t, err)
	_, page, err := sys.BusShared(64)
	must(t, err)
	ours, theirs, err := sys.WorkerLifeLine()
	must(t, err)
	channels, err := bus.NewChannels(4)
	must(t, err)
	closeAtEnd(t, listener, page, ours, theirs)
	t.Cleanup(func() { _ = channels.Close() })
	join := func(a, b int) string { return strconv.Itoa(a) + "," + strconv.Itoa(b) }
	return map[string]string{
		EnvSpawned: strconv.Itoa(os.Getpid()), EnvIndex: "1", EnvLife: strconv.Itoa(theirs),
		EnvWorkers: "2", EnvPlace: "1",
		EnvListener: strconv.Itoa(listener), EnvPage: strconv.Itoa(page),
		EnvAppPage: strconv.Itoa(page), EnvBusRead: strconv.Itoa(channels.Read[1]),
		EnvBus:    join(channels.Write[0], channels.Write[1]),
		EnvAccept: join(channels.Write[2], channels.Read[3]), EnvPublish: strconv.Itoa(listener),
		EnvPublishHTTP: strconv.Itoa(listener),
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func closeAtEnd(t *testing.T, fds ...int) {
	t.Cleanup(func() {
		for _, fd := range fds {
			_ = syscall.Close(fd)
		}
	})
}

func lookupIn(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

func TestInheritReadsEveryName(t *testing.T) {
	in, err := inherit(lookupIn(handed(t)), os.Getpid())
	if err != nil || in.Index != 1 || in.Workers != 2 || in.Place != 1 || len(in.Accept) != 2 ||
		in.AppPage == 0 || in.Publish == 0 || in.PublishHTTP == 0 || in.HasDuties() {
		t.Errorf("inherit = %+v, %v; want worker 1 of 2 with accept share and page", in, err)
	}
	env := handed(t)
	env[EnvDuties] = "1"
	if in, err = inherit(lookupIn(env), os.Getpid()); err != nil || !in.HasDuties() {
		t.Errorf("inherit with duties = %+v, %v; want them its own", in, err)
	}
}

func TestInheritWithoutSupervisorIsNothing(t *testing.T) {
	in, err := inherit(lookupIn(map[string]string{"M0_WORKERS": "2"}), os.Getpid())
	if in != nil || err != nil {
		t.Errorf("inherit of a plain start = %v, %v; want nil, nil", in, err)
	}
}

func TestStrayNamesAreRefused(t *testing.T) {
	for _, name := range envNames {
		in, err := inherit(lookupIn(map[string]string{name: "7"}), os.Getpid())
		var e *config.Error
		if !errors.As(err, &e) || e.Var != name || e.Value != "7" {
			t.Errorf("inherit with %s alone = %v, %v; want it refused by name", name, in, err)
		}
	}
}

func TestDescriptorsOfAnotherKindAreRefused(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "plain")
	must(t, err)
	defer file.Close()
	plain := strconv.Itoa(int(file.Fd()))
	good := handed(t)
	for name, values := range map[string][]string{
		EnvSpawned:  {"0", "1", "-1", "x", ""},
		EnvIndex:    {"2", "-1", "x", ""},
		EnvWorkers:  {"-1", "x", ""},
		EnvPlace:    {"2", "-1", "x", ""},
		EnvLife:     {plain, "1000000", good[EnvListener], good[EnvBusRead], ""},
		EnvListener: {plain, "1000000", good[EnvLife], good[EnvPage], ""},
		EnvPage:     {plain, "1000000", good[EnvListener], ""},
		EnvAppPage:  {plain, "1000000", good[EnvListener], ""},
		EnvBusRead:  {plain, "1000000", good[EnvListener], good[EnvLife], ""},
		EnvBus:      {plain, good[EnvBusRead] + "," + plain, "1,,2", ""},
		EnvAccept:   {plain, good[EnvBusRead], good[EnvBus] + "," + good[EnvBusRead], ""},
		EnvPublish:  {plain, "1000000", good[EnvLife], ""},

		EnvPublishHTTP: {plain, "1000000", good[EnvLife], ""},
	} {
		for _, value := range values {
			env := map[string]string{}
			for n, v := range good {
				env[n] = v
			}
			env[name] = value
			_, err := inherit(lookupIn(env), os.Getpid())
			var e *config.Error
			// A count of channels that is wrong may show in another name.
			if !errors.As(err, &e) || (e.Var != name && name != EnvBus) {
				t.Errorf("inherit with %s=%q: %v; want it refused by name", name, value, err)
			}
		}
	}
}

func TestLifeLineMadeByAnotherProcessIsRefused(t *testing.T) {
	env := handed(t)
	env[EnvSpawned] = strconv.Itoa(os.Getppid())
	_, err := inherit(lookupIn(env), os.Getppid())
	if err == nil || !strings.Contains(err.Error(), EnvLife) {
		t.Errorf("inherit with a life line of our own = %v, want %s refused", err, EnvLife)
	}
}

func TestManifestReplacesStaleNames(t *testing.T) {
	h := Handed{Listener: 10, Page: 11, Bus: &bus.Channels{Read: []int{20, 22}, Write: []int{21, 23}}}
	m := h.manifestFor(job{index: 0, place: 1, workers: 1, duties: true}, 77, 12,
		[]string{"HOME=/", EnvSpawned + "=1", EnvAppPage + "=5"})
	want := []string{"HOME=/", EnvSpawned + "=77", EnvIndex + "=0", EnvWorkers + "=1",
		EnvPlace + "=1", EnvDuties + "=1", EnvListener + "=3", EnvPage + "=4",
		EnvLife + "=5", EnvBusRead + "=6", EnvBus + "=7,8"}
	if got := strings.Join(m.env, " "); got != strings.Join(want, " ") {
		t.Errorf("environment = %s\nwant %s", got, strings.Join(want, " "))
	}
	if len(m.fds) != 6 || m.fds[3] != 22 {
		t.Errorf("descriptors = %v, want the read end of channel 1 as number 6", m.fds)
	}
}

func TestLifeLineEndsWithTheSupervisor(t *testing.T) {
	ours, theirs, err := sys.WorkerLifeLine()
	must(t, err)
	closeAtEnd(t, theirs)
	in := &Inherited{life: theirs}
	gone := make(chan struct{})
	must(t, in.WatchSupervisor(func() { close(gone) }))
	if err := in.Ready(); err != nil {
		t.Errorf("Ready = %v, want nil", err)
	}
	select {
	case <-gone:
		t.Fatal("the supervisor was called gone while its end is open")
	default:
	}
	must(t, syscall.Close(ours))
	<-gone
}

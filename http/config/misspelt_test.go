// SPDX-License-Identifier: MIT

package config

import (
	"strings"
	"testing"
)

func TestMisspelt(t *testing.T) {
	var app App
	known := []string{"SHOP_KEY", ""} // a setting without a variable has none
	for _, s := range app.Settings() {
		known = append(known, s.Env)
	}
	for entry, want := range map[string]string{
		"M0_PROT=80":           "M0_PORT",
		"M0_WORKER=2":          "M0_WORKERS",
		"M0_WOKRERS=2":         "M0_WORKERS",
		"M0_BLOCKING_THREAD=2": "M0_BLOCKING_THREADS",
		"M0_MAXCONNS=2":        "M0_MAX_CONNS",
		"m0_port=80":           "M0_PORT",
		"M0_Port=80":           "M0_PORT",
		"MO_PORT=80":           "M0_PORT",
		"MO_PROT=80":           "M0_PORT",
		"SHOP_KEYS=secret":     "SHOP_KEY",

		"M0_PORT=80":      "", // right
		"M0_PROT=":        "", // unset
		"M0_PROT":         "", // no entry of an environment
		"SHOP_PORT=80":    "", // somebody else's
		"MC_PORT=80":      "",
		"PORT=80":         "",
		"PROT=80":         "",
		"M0_=1":           "",
		"M0_SEED=7":       "",
		"M0_DUTY=7":       "",
		"_=/usr/bin/env":  "",
		"=C:=C:\\":        "",
		"M0_BUS_FDS=7,8":  "",
		"M0_LISTEN_FD=3":  "",
		"M0_LIFE_FD=3":    "",
		"M0_MAX_HEADS=1k": "M0_MAX_HEAD",
	} {
		got := Misspelt([]string{entry}, known)
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case want == "" && len(got) == 0:
		case want == "" || len(got) != 1:
			t.Errorf("Misspelt(%s) = %v; want %q", entry, got, want)
		case got[0].Error() != "config: "+name+": no setting has this name: did you mean "+want+"?":
			t.Errorf("Misspelt(%s) = %v; want %s named, and no value", entry, got[0], want)
		}
	}
	list := Misspelt([]string{"M0_PROT=1", "M0_HSOT=a", "HOME=/"}, known)
	if len(list) != 2 || list[0].Var != "M0_HSOT" || list[1].Var != "M0_PROT" {
		t.Errorf("Misspelt of two = %v; want both, in order", list)
	}
}

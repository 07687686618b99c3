// SPDX-License-Identifier: MIT

//go:build unix

package wsgibare

// processCases are about what an application does to its process and itself.
var processCases = []kase{
	{name: "reentrant", send: get("/reentrant"), want: want{body: "200 hello"}},
	{name: "reentrant-twice", send: get("/reentrant?depth=2"), want: want{body: "200 200 hello"}},
	{name: "subprocess", send: get("/child"), want: want{body: "child yes"}},
	{name: "subprocess-signals", send: get("/child/mask"), want: environ(entries{"blocked": "0"})},
	{name: "subprocess-system", send: get("/child/system"), want: want{body: "7"}},
	{name: "subprocess-preexec", send: get("/child/preexec"), want: want{body: "0"}},
	{name: "subprocess-many", send: get("/child/many"), want: want{body: "[0, 1, 2, 3, 4, 5, 6, 7]"}},
	{name: "fork", send: get("/fork"), want: want{body: "7"}},
	{name: "fork-signal", send: get("/fork/signal"), want: want{body: "signal 15"}},
	{name: "pool-fork", send: get("/pool?start=fork"), want: want{body: "42"}},
	{name: "pool-spawn", send: get("/pool?start=spawn"), want: want{body: "42"}},
	{name: "thread", send: get("/thread"), want: want{body: "1"}},
	{name: "thread-goes-on", send: get("/thread/background?id=$ID"), want: want{
		body: "started", events: "tick 0,tick 1,tick 2",
	}},
	{name: "thread-broken-pipe", send: get("/thread/pipe"), want: want{body: "BrokenPipeError"}},
	{name: "sleep", send: get("/sleep?ms=30"), want: want{body: "slept"}},
	{name: "sleep-whole", send: get("/signal/sleep"), want: want{body: "slept"}},
	{name: "spin", send: get("/spin?ms=30"), want: want{body: "spun"}},
	{name: "hold", send: get("/hold?ms=30"), want: want{body: "held"}},
	{name: "variable", send: get("/variable?name=BARE_VARIABLE"), want: want{body: `"set \u00fc"`}},
	{name: "errors", send: get("/errors?text=$ID"), want: want{
		body: "written", log: "BARE second plain-errors",
	}, strict: &want{body: "written", log: "BARE second validated-errors"}},
	{name: "errors-print", send: get("/errors?text=$ID"), want: want{
		body: "written", log: "BARE print plain-errors-print",
	}, strict: &want{body: "written", log: "BARE print validated-errors-print"}},
	{name: "errors-stderr", send: get("/errors?text=$ID"), want: want{
		body: "written", log: "BARE stderr plain-errors-stderr",
	}, strict: &want{body: "written", log: "BARE stderr validated-errors-stderr"}},
	{name: "canary", send: get("/pep3333/canary"), want: want{body: "not validated"},
		strict: &failed},
}

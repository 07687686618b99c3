// SPDX-License-Identifier: MIT
//
// An EventSource of the npm package eventsource, of any version: it prints a line of
// JSON for each thing that happens, until its input ends.
//
//     node eventsource.js URL

const found = require("eventsource");
const EventSource = found.EventSource || found;

function say(what, more) {
  console.log(JSON.stringify({ what, ...more }));
}

const source = new EventSource(process.argv[2]);
source.onopen = () => say("open");
source.onerror = () => say("error");
for (const type of ["message", "note", "reset"]) {
  source.addEventListener(type, (e) =>
    say(e.type, { id: e.lastEventId, data: e.data }),
  );
}
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));

# SPDX-License-Identifier: MIT
"""A bare ASGI 3 application: every route of the suite, no framework, no import beyond the
standard library. The first segment of the path names the route; the query its arguments.

What the application sees is told through a journal: a route notes what happens to it under
the token `t` of its query, and GET /events?t=TOKEN gives the notes as JSON. GET /open?t=TOKEN
opens the gate that a route of that token may wait at.
"""

import asyncio
import sys
from urllib.parse import parse_qsl

import bare_http
import bare_loop
import bare_websocket
from suite import EVENTS, gate_of, note, reply, reply_json

STARTED = []  # one entry for each lifespan of this process


async def app(scope, receive, send):
    """The application that the server is given."""
    kind = scope["type"]
    if kind == "lifespan":
        await lifespan(scope, receive, send)
        return
    query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    root, path = scope.get("root_path", ""), scope["path"]
    if root and path.startswith(root + "/"):
        path = path[len(root):]
    name = path.strip("/").split("/")[0]
    if kind == "websocket":
        route = bare_websocket.ROUTES.get(name, bare_websocket.refuse)
    elif name in CONTROL:
        await CONTROL[name](scope, receive, send, query)
        return
    else:
        route = bare_http.ROUTES.get(name) or bare_loop.ROUTES.get(name)
        if route is None:
            await reply(send, b"no such route\n", 404)
            return
    token = query.get("t", "")
    try:
        await route(scope, receive, send, query)
    except BaseException as reason:
        note(token, "raised " + type(reason).__name__)
        raise
    finally:
        note(token, "ended")


async def lifespan(scope, receive, send):
    """Fills the state that every request gets a copy of."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            STARTED.append(sorted(scope))
            if "state" in scope:
                scope["state"]["greeting"] = "made at startup"
                scope["state"]["shared"] = []
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return


async def events(scope, receive, send, query):
    """The notes of a token, oldest first."""
    await reply_json(send, EVENTS.get(query["t"], []))


async def open_gate(scope, receive, send, query):
    """Opens the gate of a token; it stays open."""
    gate_of(query["t"]).set()
    await reply(send, b"open\n")


async def about(scope, receive, send, query):
    """What this process is."""
    loop = asyncio.get_running_loop()
    await reply_json(send, {
        "loop": type(loop).__module__.split(".")[0],
        "python": "%d.%d" % sys.version_info[:2],
        "started": STARTED,
        "tasks": len(asyncio.all_tasks()),
    })


CONTROL = {"events": events, "open": open_gate, "about": about}

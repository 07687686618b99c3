# SPDX-License-Identifier: MIT
"""The views of ops.py as an ASGI application, as far as they differ there."""

import asyncio
import json
import os
import time
from urllib.parse import parse_qs

from ops import say


async def read(receive):
    """The whole body."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def hello(scope, q, receive):
    return b"hello"


async def pid(scope, q, receive):
    return b"%d" % os.getpid()


async def echo(scope, q, receive):
    return await read(receive)


async def shown(scope, q, receive):
    """The scope, with its bytes as latin-1."""
    return json.dumps({
        "scheme": scope["scheme"], "client": scope["client"], "root_path": scope["root_path"],
        "path": scope["path"],
        "headers": [[k.decode("latin-1"), v.decode("latin-1")] for k, v in scope["headers"]],
    }).encode()


async def sleep(scope, q, receive):
    say("sleeps")
    await asyncio.sleep(float(q["s"]))
    return b"slept %d" % os.getpid()


async def block(scope, q, receive):
    """Hold the event loop up."""
    say("blocks")
    time.sleep(float(q["s"]))
    return b"blocked"


ROUTES = {"/" + view.__name__: view for view in (block, echo, hello, pid, shown, sleep)}


async def lifespan(receive, send):
    while True:
        kind = (await receive())["type"]
        say(kind)
        await send({"type": kind + ".complete"})
        if kind == "lifespan.shutdown":
            return


async def websocket(receive, send):
    """Accept and send back what comes."""
    await receive()
    await send({"type": "websocket.accept"})
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            say("disconnect %s" % message["code"])
            return
        await send({"type": "websocket.send", "text": message["text"]})


async def stream(send, q):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    say("streams")
    for n in range(int(q["n"])):
        await send({"type": "http.response.body", "body": b"piece %d\n" % n, "more_body": True})
        await asyncio.sleep(float(q["s"]))
    await send({"type": "http.response.body", "body": b""})


async def app(scope, receive, send):
    """Call the view of the path."""
    if scope["type"] == "lifespan":
        return await lifespan(receive, send)
    if scope["type"] == "websocket":
        return await websocket(receive, send)
    q = {k: v[-1] for k, v in parse_qs(scope["query_string"].decode()).items()}
    if scope["path"] == "/stream":
        return await stream(send, q)
    view = ROUTES.get(scope["path"][len(scope["root_path"]):])
    status, answer = (200, await view(scope, q, receive)) if view else (404, b"no view")
    await send({"type": "http.response.start", "status": status,
                "headers": [(b"content-length", b"%d" % len(answer))]})
    await send({"type": "http.response.body", "body": answer})

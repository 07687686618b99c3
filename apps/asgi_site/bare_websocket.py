# SPDX-License-Identifier: MIT
"""The routes of the bare application that speak WebSocket."""

import asyncio
import hashlib
import json

from suite import gate_of, note, plain


async def accept(receive, send, **more):
    """Takes the connection."""
    message = await receive()
    assert message["type"] == "websocket.connect", message
    await send({"type": "websocket.accept", **more})


async def text(send, value):
    """Sends text."""
    await send({"type": "websocket.send", "text": value})


async def refuse(scope, receive, send, query):
    """No such route: refused as the specification says."""
    await receive()
    await send({"type": "websocket.close"})


async def echo(scope, receive, send, query):
    """What comes goes back, of the same kind."""
    await accept(receive, send)
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            note_end(query, message)
            return
        if message.get("text") is not None:
            await text(send, message["text"])
        else:
            await send({"type": "websocket.send", "bytes": message["bytes"]})


def note_end(query, message):
    """Notes how the connection ended."""
    token = query.get("t", "")
    note(token, "disconnect %s" % message.get("code"))
    note(token, "reason %r" % message.get("reason", "absent"))


async def scope_dump(scope, receive, send, query):
    """The scope as JSON."""
    await accept(receive, send)
    dump = plain({k: v for k, v in scope.items() if k != "state"})
    dump["types"] = {k: type(v).__name__ for k, v in scope.items()}
    dump["greeting"] = (scope.get("state") or {}).get("greeting")
    await text(send, json.dumps(dump))


async def kinds(scope, receive, send, query):
    """Each message with its keys as they came, until the client leaves."""
    await accept(receive, send)
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return
        both = [message.get("text") is not None, message.get("bytes") is not None]
        types = [type(message.get(k)).__name__ for k in ("text", "bytes")]
        await text(send, json.dumps({"one": both.count(True) == 1, "types": types}))


async def choose(scope, receive, send, query):
    """Accepts with a subprotocol and headers."""
    more = {}
    if "sub" in query:
        more["subprotocol"] = query["sub"]
    if "none" in query:
        more["subprotocol"] = None
    if "headers" in query:
        more["headers"] = [(b"x-one", b"caf\xe9"), (b"set-cookie", b"a=1"),
                           (b"set-cookie", b"b=2")]
    await accept(receive, send, **more)
    await text(send, json.dumps(scope.get("subprotocols")))


async def hold(scope, receive, send, query):
    """Accepts once the gate opens."""
    message = await receive()
    note(query["t"], message["type"])
    await gate_of(query["t"]).wait()
    await send({"type": "websocket.accept"})
    await text(send, "in")


async def deny(scope, receive, send, query):
    """Refuses by ?by=: close, an answer of its own, an exception, or silence."""
    await receive()
    by, token = query["by"], query.get("t", "")
    if by == "close":
        await send({"type": "websocket.close", "code": 4001})
        note_end(query, await receive())
    elif by == "error":
        raise RuntimeError("meant to fail in the handshake")
    elif by == "response":
        if "websocket.http.response" not in (scope.get("extensions") or {}):
            note(token, "extension not offered")
            return
        head = [(b"x-why", b"no entry"), (b"content-type", b"text/plain")]
        await send({"type": "websocket.http.response.start", "status": 401, "headers": head})
        await send({"type": "websocket.http.response.body", "body": b"no ", "more_body": True})
        await send({"type": "websocket.http.response.body", "body": b"entry"})
        note_end(query, await receive())


async def shapes(scope, receive, send, query):
    """Sends with the other key there and None."""
    await accept(receive, send)
    await send({"type": "websocket.send", "text": "t", "bytes": None})
    await send({"type": "websocket.send", "text": None, "bytes": b"b"})
    await send({"type": "websocket.send", "bytes": b""})
    await send({"type": "websocket.send", "text": ""})


async def close(scope, receive, send, query):
    """Closes by ?code= and ?reason=, then asks what became of it."""
    await accept(receive, send)
    message = {"type": "websocket.close"}
    if "code" in query:
        message["code"] = int(query["code"])
    if "reason" in query:
        message["reason"] = query["reason"]
    await send(message)
    if "send" in query:
        await tell_send(send, query["t"])
    note_end(query, await receive())


async def tell_send(send, token):
    """Notes what a send comes to."""
    try:
        for _ in range(3):
            await text(send, "late")
        note(token, "send worked")
    except OSError:
        note(token, "send OSError")
    except Exception as reason:
        note(token, "send " + type(reason).__name__)


async def leave(scope, receive, send, query):
    """Accepts and ends: returning, or failing."""
    await accept(receive, send)
    await text(send, "hello")
    if query.get("by") == "error":
        raise RuntimeError("meant to fail behind the handshake")
    if query.get("by") == "exit":
        raise SystemExit(3)


async def watch(scope, receive, send, query):
    """Waits for the end, then asks again and sends."""
    await accept(receive, send)
    await text(send, "in")
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            break
    note_end(query, message)
    if "send" in query:
        await tell_send(send, query["t"])


async def misuse(scope, receive, send, query):
    """Messages out of turn."""
    await receive()
    accepted = {"type": "websocket.accept"}
    cases = {
        "send-first": [{"type": "websocket.send", "text": "x"}],
        "accept-twice": [accepted, accepted],
        "unknown": [accepted, {"type": "websocket.nonsense"}],
        "http": [accepted, {"type": "http.response.start", "status": 200}],
        "neither": [accepted, {"type": "websocket.send"}],
        "text-bytes": [accepted, {"type": "websocket.send", "text": b"x"}],
        "bad-code": [accepted, {"type": "websocket.close", "code": 1006}],
        "long-reason": [accepted, {"type": "websocket.close", "reason": "\u00e9" * 100}],
        "injected": [{"type": "websocket.accept", "headers": [(b"x-one", b"1\r\nx-two: 2")]}],
    }
    for message in cases[query["case"]]:
        try:
            await send(message)
        except Exception as reason:
            note(query["t"], "refused " + type(reason).__name__)
            raise
    note(query["t"], "accepted")


async def flood(scope, receive, send, query):
    """Sends ?n= messages of 64 KiB, noting each."""
    await accept(receive, send)
    data, token = b"f" * (64 << 10), query["t"]
    try:
        for i in range(int(query["n"])):
            await send({"type": "websocket.send", "bytes": data})
            note(token, "sent %d" % (i + 1))
    except OSError:
        note(token, "OSError")
        return
    await send({"type": "websocket.close"})


async def sink(scope, receive, send, query):
    """Waits at the gate, then reads all; says how much on the text "end"."""
    await accept(receive, send)
    note(query["t"], "in")
    await gate_of(query["t"]).wait()
    total, hashed = 0, hashlib.sha256()
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return
        if message.get("text") == "end":
            await text(send, json.dumps({"length": total, "sha256": hashed.hexdigest()}))
            continue
        total += len(message["bytes"])
        hashed.update(message["bytes"])


async def ticks(scope, receive, send, query):
    """One task sends while another receives."""
    await accept(receive, send)

    async def ticker():
        for i in range(20):
            await text(send, "tick %d" % i)
            await asyncio.sleep(0.005)

    task = asyncio.ensure_future(ticker())
    message = await receive()
    await task
    await text(send, "got " + message["text"])
    await send({"type": "websocket.close"})


ROUTES = {
    "echo": echo, "scope": scope_dump, "kinds": kinds, "choose": choose, "hold": hold,
    "deny": deny, "shapes": shapes, "close": close, "leave": leave, "watch": watch,
    "misuse": misuse, "flood": flood, "sink": sink, "ticks": ticks,
}

# SPDX-License-Identifier: MIT
"""The routes of the bare application that speak HTTP."""

import asyncio
import hashlib
import os
import resource

from bare_extensions import ROUTES as EXTENSIONS
from suite import body, gate_of, note, plain, reply, reply_json, start

BLOCK = 64 << 10


async def scope_dump(scope, receive, send, query):
    """The scope, bytes as latin-1 text, and the types of what it holds."""
    dump = plain({k: v for k, v in scope.items() if k != "state"})
    dump["types"] = {k: type(v).__name__ for k, v in scope.items()}
    dump["header_types"] = sorted({type(p).__name__ for h in scope["headers"] for p in h})
    await reply_json(send, dump)


async def state(scope, receive, send, query):
    """What the state holds before this request leaves a mark of its own in it."""
    found = scope.get("state")
    if found is None:
        await reply_json(send, None)
        return
    seen = {"greeting": found.get("greeting"), "mark": found.get("mark"),
            "shared": list(found.get("shared", ()))}
    found["mark"] = query["mark"]
    found.setdefault("shared", []).append(query["mark"])
    await reply_json(send, seen)


async def messages(scope, receive, send, query):
    """Every message up to the end of the body, as it came."""
    seen = []
    while True:
        message = await receive()
        seen.append({**plain(message), "body_type": type(message.get("body")).__name__})
        if message["type"] != "http.request" or not message.get("more_body"):
            break
    await reply_json(send, seen)


async def digest(scope, receive, send, query):
    """Length and hash of the body; notes its parts, and waits at the gate before it reads."""
    token, total, hashed = query.get("t", ""), 0, hashlib.sha256()
    note(token, "called")
    if "gate" in query:
        await gate_of(token).wait()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            note(token, message["type"])
            return
        if message.get("body"):
            total += len(message["body"])
            hashed.update(message["body"])
            note(token, "read %d" % total)
        if not message.get("more_body"):
            break
    note(token, "whole")
    await reply_json(send, {"length": total, "sha256": hashed.hexdigest()})


async def echo(scope, receive, send, query):
    """The body, part by part as it comes."""
    await start(send)
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return
        await body(send, message.get("body", b""), True)
        if not message.get("more_body"):
            break
    await body(send)


async def unread(scope, receive, send, query):
    """Answers without a look at the body."""
    await reply(send, b"unread\n")


async def status(scope, receive, send, query):
    """Any status with any body: ?code=204&body=text&cl=4."""
    data = query.get("body", "").encode("latin-1")
    headers = []
    if "cl" in query:
        headers.append((b"content-length", query["cl"].encode()))
    if "te" in query:
        headers.append((b"transfer-encoding", query["te"].encode()))
    if "conn" in query:
        headers.append((b"connection", query["conn"].encode()))
    await start(send, int(query.get("code", "200")), headers)
    await body(send, data)


def header_cases():
    """Response headers in all the shapes that the specification allows."""
    return {
        "pairs": [(b"x-one", b"1"), (b"x-two", b"2")],
        "lists": [[b"x-one", b"1"], [b"x-two", b"2"]],
        "iterator": iter([(b"x-one", b"1"), (b"x-two", b"2")]),
        "repeated": [(b"set-cookie", b"a=1"), (b"x-one", b"1"), (b"set-cookie", b"b=2")],
        "latin": [(b"x-one", b"caf\xe9 \xff")],
        "empty": [(b"x-one", b"")],
        "own-date": [(b"date", b"Thu, 01 Jan 1970 00:00:00 GMT")],
        "own-server": [(b"server", b"mine")],
        "long": [(b"x-one", b"v" * 20000)],
        "many": [(b"x-%d" % i, b"%d" % i) for i in range(200)],
        "injected": [(b"x-one", b"1\r\nx-two: 2")],
        "newline": [(b"x-one", b"1\nx-two: 2")],
        "nul": [(b"x-one", b"1\x002")],
        "bad-name": [(b"x one", b"1")],
        "name-newline": [(b"x-one\r\nx-two", b"1")],
        "text": [("x-one", "1")],
        "number": [(b"x-one", 1)],
        "not-pairs": [b"x-one"],
    }


async def headers(scope, receive, send, query):
    """The headers of one case."""
    await start(send, 200, header_cases()[query["case"]])
    await body(send, b"sent\n")


async def chunks(scope, receive, send, query):
    """?n=100&size=100 parts, each its own number repeated; &gate=1 waits between them."""
    await start(send)
    for i in range(int(query["n"])):
        await body(send, (b"%d" % (i % 10)) * int(query["size"]), True)
        note(query.get("t", ""), "sent %d" % i)
        if "gate" in query:
            await gate_of("%s-%d" % (query["t"], i)).wait()
    await body(send)


async def holes(scope, receive, send, query):
    """Empty parts in the middle end nothing."""
    await start(send)
    for part in (b"", b"one", b"", b"", b"two", b""):
        await body(send, part, True)
    await body(send)


async def shapes(scope, receive, send, query):
    """Bodies in other types than bytes, and messages with their optional keys left out."""
    case = query["case"]
    if case == "bare":
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body"})
        return
    await start(send)
    await body(send, {"bytearray": bytearray, "memoryview": memoryview}[case](b"shaped"))


async def length(scope, receive, send, query):
    """Says ?cl= bytes and sends ?n=; notes how the last send went."""
    await start(send, 200, [(b"content-length", query["cl"].encode())])
    try:
        await body(send, b"x" * int(query["n"]), "split" in query)
        if "split" in query:
            await body(send)
        note(query["t"], "sent")
    except Exception as reason:
        note(query["t"], "refused " + type(reason).__name__)
        raise


async def held_head(scope, receive, send, query):
    """A head whose body waits at the gate; then it fails, or goes on."""
    await start(send, 200, [(b"content-length", b"5")])
    note(query["t"], "started")
    await gate_of(query["t"]).wait()
    if "fail" in query:
        raise RuntimeError("failed behind the head")
    await body(send, b"held\n")


async def fail(scope, receive, send, query):
    """Fails at ?at=: before the head, behind a part of the body, or without an answer."""
    kinds = {"error": RuntimeError("meant to fail: " + query.get("t", "")), "exit": SystemExit(3),
             "interrupt": KeyboardInterrupt(), "cancelled": asyncio.CancelledError()}
    reason = kinds[query.get("kind", "error")]
    at = query["at"]
    if at == "head":
        raise reason
    if at == "silent":
        return
    sized = at.startswith("sized")
    await start(send, 200, [(b"content-length", b"100")] if sized else [])
    if at == "started":
        return
    await body(send, b"part", True)
    if at != "part":
        raise reason


async def misuse(scope, receive, send, query):
    """Messages out of turn; notes what the server made of them."""
    ok = {"type": "http.response.start", "status": 200, "headers": []}
    cases = {
        "body-first": [{"type": "http.response.body", "body": b"x"}],
        "start-twice": [ok, ok],
        "unknown": [{"type": "http.response.nonsense"}],
        "no-type": [{"status": 200}],
        "websocket": [{"type": "websocket.accept"}],
        "status-text": [{"type": "http.response.start", "status": "200", "headers": []}],
        "status-small": [{"type": "http.response.start", "status": 42, "headers": []}],
        "status-none": [{"type": "http.response.start", "headers": []}],
        "body-text": [ok, {"type": "http.response.body", "body": "text"}],
    }
    for message in cases[query["case"]]:
        try:
            await send(message)
        except Exception as reason:
            note(query["t"], "refused " + type(reason).__name__)
            raise
    await send({"type": "http.response.body", "body": b"accepted"})


async def afterwards(scope, receive, send, query):
    """Sends more once the answer is complete, then asks for a message."""
    await reply(send, b"whole\n")
    try:
        await body(send, b"more")
        note(query["t"], "more ignored")
    except Exception as reason:
        note(query["t"], "more refused " + type(reason).__name__)
    note(query["t"], (await receive())["type"])


async def waiting(scope, receive, send, query):
    """Reads the body, then waits for what comes next: nothing but the disconnect may."""
    token = query["t"]
    while (await receive()).get("more_body"):
        pass
    note(token, "body read")
    message = asyncio.ensure_future(receive())
    done, _ = await asyncio.wait([message], timeout=float(query.get("after", "0.2")))
    note(token, "came early" if done else "still waits")
    if "reply" in query:
        await reply(send, b"late\n")
    note(token, (await message)["type"])
    note(token, (await receive())["type"])
    if "send" in query:
        await tell_send(send, token)


async def tell_send(send, token):
    """Notes whether sending an answer is an OSError."""
    try:
        await start(send)
        for _ in range(3):
            await body(send, b"x" * 1000, True)
        note(token, "send worked")
    except OSError:
        note(token, "send OSError")
    except Exception as reason:
        note(token, "send " + type(reason).__name__)


async def stream(scope, receive, send, query):
    """Sends until it cannot: ?size= a part, ?pause= seconds between, ?n= at most."""
    token, sent = query["t"], 0
    await start(send, 200, [(b"content-type", b"text/plain")])
    data = b"s" * int(query.get("size", str(BLOCK)))
    try:
        for _ in range(int(query.get("n", "1000000"))):
            await body(send, data, True)
            sent += len(data)
            note(token, "sent %d" % sent)
            await asyncio.sleep(float(query.get("pause", "0")))
        await body(send)
        note(token, "complete")
    except OSError:
        note(token, "OSError")
        raise
    except asyncio.CancelledError:
        note(token, "CancelledError")
        raise
    finally:
        note(token, "finally")


async def large(scope, receive, send, query):
    """?n= bytes in one message."""
    data = bytes(range(256)) * (int(query["n"]) // 256)
    await start(send, 200, [(b"content-length", b"%d" % len(data))])
    await body(send, data)
    note(query.get("t", ""), "returned")


async def duplex(scope, receive, send, query):
    """One task reads the body and another sends at the same time."""
    await start(send)

    async def reader():
        total = 0
        while True:
            message = await receive()
            total += len(message.get("body", b""))
            if not message.get("more_body"):
                return total

    task = asyncio.ensure_future(reader())
    for i in range(50):
        await body(send, b"%02d" % i, True)
        await asyncio.sleep(0)
    await body(send, b"|%d" % await task)


async def two_senders(scope, receive, send, query):
    """Two tasks send parts of one answer."""
    await start(send)

    async def sender(mark):
        for _ in range(200):
            await body(send, mark * 1000, True)

    await asyncio.gather(sender(b"a"), sender(b"b"))
    await body(send)


async def memory(scope, receive, send, query):
    """The peak of this process' memory, in KiB."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    await reply_json(send, {"peak_kib": usage.ru_maxrss, "pid": os.getpid()})


ROUTES = {
    "scope": scope_dump, "state": state, "messages": messages, "digest": digest, "echo": echo,
    "unread": unread, "status": status, "headers": headers, "chunks": chunks, "holes": holes,
    "shapes": shapes, "length": length, "held": held_head, "fail": fail, "misuse": misuse,
    "afterwards": afterwards, "waiting": waiting, "stream": stream, "large": large,
    "duplex": duplex, "senders": two_senders, "memory": memory, **EXTENSIONS,
}

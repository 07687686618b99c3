# SPDX-License-Identifier: MIT
"""What no application should do: /wild behaves by the seed of its query, every other path is
asked many times over while the memory is watched. /ok is the good request behind all of it.
"""

import asyncio
import gc
import os
import random
import sys
import threading

RUNNING = set()  # one for each call
KEPT = []  # send and receive of earlier calls
TASKS = set()
HEADERS = ((), [], [(b"x-a", b"1")], [[b"x-b", b"2"]], {b"x": b"y"}, None, 5, [(b"x",)],
           [("str", b"x")], [(b"bad name", b"x")], [(b"x", b"a\r\nb")], [(b"content-length", b"1")],
           [(b"content-length", b"x")], [(b"connection", b"close")], iter([(b"x", b"y")]))
BODIES = (b"", b"body", b"x" * 70000, b"y" * 300000, "text", None, 5, bytearray(b"b"),
          memoryview(b"m"))
STATUSES = (200, 204, 304, 404, 999, 101, 99, 1000, -1, "200", None, 2.5, 1 << 80)
RAISED = (RuntimeError, SystemExit, KeyboardInterrupt, GeneratorExit, OSError, MemoryError,
          asyncio.CancelledError)


def message(rng):
    """A random message, most often one that has its place somewhere."""
    kinds = {
        "http.response.start": lambda: {
            "status": rng.choice(STATUSES) if rng.random() < 0.3 else 200,
            "headers": rng.choice(HEADERS) if rng.random() < 0.5 else [],
            "trailers": rng.random() < 0.2},
        "http.response.body": lambda: {
            "body": rng.choice(BODIES), "more_body": rng.choice((True, True, False, 1, None))},
        "http.response.trailers": lambda: {
            "headers": rng.choice(HEADERS), "more_trailers": rng.random() < 0.3},
        "http.response.early_hint": lambda: {"links": rng.choice(([b"</a>"], [5], None))},
        "http.response.pathsend": lambda: {"path": rng.choice((__file__, "/nowhere", None))},
        "http.response.zerocopysend": lambda: {"file": rng.choice((-1, None, 5000))},
        "websocket.accept": lambda: {
            "subprotocol": rng.choice((None, "a", "\u20ac", 5, "a\r\nb")),
            "headers": rng.choice(HEADERS)},
        "websocket.send": lambda: {
            "text": rng.choice((None, "text", "\u20ac" * 30000, b"b", "\ud800")),
            "bytes": rng.choice((None, b"bytes", b"z" * 200000, "str"))},
        "websocket.close": lambda: {
            "code": rng.choice((1000, 1000.0, 1006, 5000, None, "a")),
            "reason": rng.choice(("", "why", "r" * 200, None, b"b", "\ud800"))},
        "websocket.http.response.start": lambda: {"status": 404, "headers": rng.choice(HEADERS)},
        "websocket.http.response.body": lambda: {"body": rng.choice(BODIES)},
        "lifespan.startup.complete": dict,
        "nothing": dict,
    }
    kind = rng.choice(sorted(kinds))
    made = dict(kinds[kind](), type=kind)
    if rng.random() < 0.05:
        made.pop(rng.choice(sorted(made)))
    return made


async def behave(rng, receive, send, depth=0):
    """A few random steps."""
    for _ in range(rng.randrange(7)):
        pick = rng.random()
        try:
            if pick < 0.55:
                await asyncio.wait_for(send(message(rng)), 0.5)
            elif pick < 0.65:
                await asyncio.wait_for(receive(), 0.05)
            elif pick < 0.7:
                KEPT.append((receive, send))
                del KEPT[:-20]
            elif pick < 0.75 and KEPT:
                old = rng.choice(KEPT)
                await asyncio.wait_for(old[0](), 0.05)
                await asyncio.wait_for(old[1](message(rng)), 0.05)
            elif pick < 0.8 and depth == 0:
                task = asyncio.ensure_future(behave(rng, receive, send, 1))
                TASKS.add(task)
                task.add_done_callback(TASKS.discard)
            elif pick < 0.84:
                await asyncio.sleep(rng.random() / 100)
            elif pick < 0.87:
                gc.collect()
            elif pick < 0.9:
                elsewhere(send, message(rng))
            elif pick < 0.93:
                raise rng.choice(RAISED)("wild")
        except (Exception, asyncio.TimeoutError):
            if rng.random() < 0.3:
                raise


def elsewhere(send, what):
    """Sends from another thread, which is refused or ignored."""

    def work():
        try:
            send(what).send(None)
        except BaseException:
            pass

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


async def reply(send, body, more=False):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def memory(scope, receive, send):
    gc.collect()
    with open("/proc/self/statm") as f:
        resident = int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    running = len(RUNNING) - 1  # beside this one
    await reply(send, b"%d %d %d" % (sys.getallocatedblocks(), resident, running))


async def pieces(scope, receive, send):
    await reply(send, b"a" * 100, True)
    for _ in range(3):
        await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b"b" * 100, "more_body": True})
    await send({"type": "http.response.body"})


async def body(scope, receive, send):
    size = 0
    while True:
        got = await receive()
        if got["type"] != "http.request":
            return
        size += len(got["body"])
        if not got["more_body"]:
            break
    await reply(send, b"%d" % size)


async def fails(scope, receive, send):
    raise RuntimeError("ahead of the head")


async def late(scope, receive, send):
    await reply(send, b"x", True)
    raise RuntimeError("behind the head")


async def wrong(scope, receive, send):
    for headers in HEADERS:
        try:
            await send({"type": "http.response.start", "status": 1 << 80, "headers": headers})
        except (TypeError, ValueError):
            pass
    await reply(send, b"recovered")


async def leaves(scope, receive, send):
    await reply(send, b"x" * 100, True)
    while (await receive())["type"] != "http.disconnect":
        pass


async def background(scope, receive, send):
    """A task of the application's that asks to leave."""

    async def leave():
        raise SystemExit(3)

    TASKS.add(asyncio.ensure_future(leave()))
    await asyncio.sleep(0.01)
    await reply(send, b"still here")


async def generator():
    try:
        yield
    finally:
        while True:
            try:
                await asyncio.sleep(3600)
            except BaseException:
                pass


async def endless(scope, receive, send):
    """A task and a generator that do not end by themselves, nor when they are told."""
    made = generator()
    KEPT.append(made)
    await made.__anext__()
    TASKS.add(asyncio.ensure_future(ends(scope["query_string"].decode())))
    await asyncio.sleep(0)
    await reply(send, b"begun")


async def ends(name):
    try:
        await asyncio.sleep(3600)
    finally:
        print("WILD the task has ended", name, flush=True)


async def fork(scope, receive, send):
    """The child returns, raises, or goes on."""
    how = scope["query_string"]
    pid = os.fork()
    if pid == 0 and how == b"returns":
        return
    if pid == 0 and how == b"raises":
        raise SystemExit(7)
    if pid == 0:
        await asyncio.sleep(0.01)
        await reply(send, b"child")
    waited = await asyncio.get_running_loop().run_in_executor(None, os.waitpid, pid, 0)
    await reply(send, b"status %d" % os.WEXITSTATUS(waited[1]))


async def ok(scope, receive, send):
    await reply(send, b"ok")


ROUTES = {
    "/memory": memory, "/pieces": pieces, "/body": body, "/fails": fails, "/late": late,
    "/wrong": wrong, "/leaves": leaves, "/background": background, "/endless": endless,
    "/fork": fork, "/ok": ok,
}


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        raise RuntimeError("there is none")
    call = object()
    RUNNING.add(call)
    try:
        await serve(scope, receive, send)
    finally:
        RUNNING.discard(call)


async def serve(scope, receive, send):
    if scope["path"] == "/socket":
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            await send({"type": "websocket.send", "text": "answer"})
    elif scope["path"] == "/wild":
        await behave(random.Random(scope["query_string"]), receive, send)
    else:
        await ROUTES[scope["path"]](scope, receive, send)

# SPDX-License-Identifier: MIT
"""Applications by what they do with their lifespan. What happens is written, a line each, to
the file that ASGI_SITE_FILE names, since it happens when nobody can be asked over HTTP.
"""

import asyncio
import os
import sys

from suite import body, reply_json, start


def tell(line):
    """Appends line to the file of the test."""
    with open(os.environ["ASGI_SITE_FILE"], "a", encoding="utf-8") as file:
        file.write(line + "\n")


def own(state):
    """What the application put there itself: the server's object has the name m0."""
    return state and {name: value for name, value in state.items() if name != "m0"}


async def serve(scope, receive, send):
    """What all of them answer: the types of the scopes seen so far."""
    await reply_json(send, {"state": own(scope.get("state")), "type": scope["type"]})


async def whole(scope, receive, send):
    """Startup and shutdown as they should be; requests that last are told when to go."""
    if scope["type"] == "lifespan":
        tell("scope " + " ".join(sorted(scope)))
        tell("versions %(version)s %(spec_version)s" % scope["asgi"])
        await lifespan(scope, receive, send)
    elif scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                tell("websocket %s" % message.get("code"))
                return
    else:
        await WHOLE.get(scope["path"], whole_answer)(scope, receive, send)


async def lifespan(scope, receive, send):
    """Both messages, told."""
    assert (await receive())["type"] == "lifespan.startup"
    tell("startup")
    scope["state"]["made"] = "at startup"
    await send({"type": "lifespan.startup.complete"})
    assert (await receive())["type"] == "lifespan.shutdown"
    tell("shutdown")
    await asyncio.sleep(0.05)
    tell("shutdown done")
    await send({"type": "lifespan.shutdown.complete"})


async def whole_answer(scope, receive, send):
    """The state, or the pid."""
    await reply_json(send, {"state": own(scope.get("state")), "pid": os.getpid()})


async def slow(scope, receive, send):
    """An answer that takes 0.5 s."""
    tell("slow called")
    await asyncio.sleep(0.5)
    await reply_json(send, "slow done")
    tell("slow done")


async def listener(scope, receive, send):
    """A stream that ends when it is told to."""
    await start(send)
    await body(send, b"on air\n", True)
    await receive()
    tell("listener " + (await receive())["type"])
    await body(send, b"bye\n")


async def deaf(scope, receive, send):
    """A stream that never asks whether anybody is there."""
    await start(send)
    try:
        while True:
            await body(send, b"tick\n", True)
            await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        tell("deaf cancelled")
        raise
    except OSError:
        tell("deaf OSError")
        raise
    finally:
        tell("deaf finally")


async def stubborn(scope, receive, send):
    """A coroutine that swallows its cancellation."""
    await start(send)
    await body(send, b"on\n", True)
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            tell("stubborn cancelled")


WHOLE = {"/slow": slow, "/listener": listener, "/deaf": deaf, "/stubborn": stubborn}


async def unsupported(scope, receive, send):
    """Fails at the call: no lifespan."""
    if scope["type"] == "lifespan":
        tell("asked")
        raise AssertionError("only http here")
    await serve(scope, receive, send)


async def returns(scope, receive, send):
    """Returns from the lifespan without a word."""
    if scope["type"] == "lifespan":
        tell("asked")
        return
    await serve(scope, receive, send)


async def failed(scope, receive, send):
    """Says that startup failed."""
    if scope["type"] == "lifespan":
        await receive()
        tell("pid %d" % os.getpid())
        await send({"type": "lifespan.startup.failed", "message": "no database at hand"})
        return
    await serve(scope, receive, send)


async def dies(scope, receive, send):
    """Fails behind the startup message."""
    if scope["type"] == "lifespan":
        await receive()
        tell("asked")
        raise RuntimeError("startup went wrong")
    await serve(scope, receive, send)


async def exits(scope, receive, send):
    """Leaves by sys.exit at startup."""
    if scope["type"] == "lifespan":
        await receive()
        sys.exit("configuration is wrong")
    await serve(scope, receive, send)


async def late(scope, receive, send):
    """Takes its time to start."""
    if scope["type"] == "lifespan":
        await receive()
        await asyncio.sleep(0.5)
        tell("startup complete")
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    tell("request")
    await serve(scope, receive, send)


async def stuck(scope, receive, send):
    """Never finishes its shutdown."""
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        tell("shutdown")
        await asyncio.sleep(3600)
    await serve(scope, receive, send)


async def shutdown_failed(scope, receive, send):
    """Says that shutdown failed."""
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.failed", "message": "cannot flush the queue"})
        return
    await serve(scope, receive, send)


async def shutdown_dies(scope, receive, send):
    """Fails in shutdown."""
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        tell("shutdown")
        raise RuntimeError("shutdown went wrong")
    await serve(scope, receive, send)


async def quits(scope, receive, send):
    """Ends its lifespan once started; requests go on."""
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        tell("left")
        return
    await serve(scope, receive, send)


async def nothing(scope, receive, send):
    """Tells that it was asked for a lifespan, which --lifespan off must not do."""
    if scope["type"] == "lifespan":
        tell("asked")
    await serve(scope, receive, send)


def factory():
    """Makes an application."""
    return whole


class Instance:
    """An application that is an object."""

    async def __call__(self, scope, receive, send):
        await whole(scope, receive, send)


instance = Instance()
broken = 42  # no application

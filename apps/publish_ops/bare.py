# SPDX-License-Identifier: MIT
"""An ASGI application that uses scope["state"]["m0"] and no framework."""

import asyncio
import contextlib
import json
import os
import threading
from urllib.parse import parse_qs

early = []  # what came to the subscription that was made before anything was served
tasks = set()


async def lifespan(scope, receive, send):
    """Publishes and subscribes while the application starts."""
    await receive()
    m0 = scope["state"]["m0"]
    messages = m0.subscribe("early")

    async def collect():
        async for message in messages:
            early.append(message.data)
        early.append("the end")
        print("early: %s" % early[-1], flush=True)

    tasks.add(asyncio.create_task(collect()))
    await asyncio.sleep(0)  # until it waits
    async with m0.subscribe("early") as another:
        await m0.publish("early", "before the start")
        there = False
        while not there:  # until it has come, of which nobody is told before the worker serves
            try:
                there = bool(await asyncio.wait_for(another.__anext__(), 0.01))
            except asyncio.TimeoutError:
                pass
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


async def events(m0, query, send):
    """A stream of everything that a subscription gives, as JSON."""
    messages = m0.subscribe(*query["channel"])
    await start(send, b"text/event-stream")
    await send({"type": "http.response.body", "body": b":\n\n", "more_body": True})
    async for message in messages:
        text = json.dumps({**message._asdict(), "dropped": messages.dropped})
        await send({"type": "http.response.body", "more_body": True,
                    "body": b"id: %s\ndata: %s\n\n" % (message.id.encode(), text.encode())})
    await send({"type": "http.response.body"})


async def publish(m0, query, send):
    """Publishes what the query says."""
    return await m0.publish(*query["channel"], query["data"][0],
                            event=query.get("event", [None])[0], id=query.get("id", [None])[0])


async def wrong(m0, query, send):
    """What is said of values that are wrong, by what they are for."""
    found = {}

    async def note(name, call, *args, **more):
        try:
            made = call(*args, **more)
            found[name] = "nothing"
            if asyncio.iscoroutine(made):
                await made
        except Exception as error:
            found[name] = "%s: %s" % (type(error).__name__, error)

    await note("publish", m0.publish, "\x01journal", "x")
    await note("subscribe", m0.subscribe, "\x01journal")
    await note("second", m0.subscribe, "fine", "\x01journal")
    await note("no channel", m0.subscribe)
    await note("control", m0.publish, "a\nb", "x")
    await note("event", m0.publish, "a", "x", event="one\ntwo")
    await note("id", m0.publish, "a", "x", id="one\ntwo")
    await note("bytes", m0.publish, "a", b"x")
    await note("number", m0.subscribe, 7)
    await note("surrogate", m0.publish, "a", "\ud800")
    await note("large", m0.publish, "a", "x" * (5 << 20))
    return found


async def overflow(m0, query, send):
    """Publishes more than may wait, and then reads."""
    slow, end = m0.subscribe("overflow"), m0.subscribe("overflow-end")
    for number in range(int(query["count"][0])):
        await m0.publish("overflow", str(number))
    await m0.publish("overflow-end", "")
    async for _ in end:
        break  # so all that was published before has come
    got = []
    while True:
        try:
            message = await asyncio.wait_for(slow.__anext__(), 0.2)
        except asyncio.TimeoutError:
            return {"got": got, "dropped": slow.dropped}
        got.append(int(message.data))


async def leave(m0, query, send):
    """Leaves subscriptions in every way there is; how many messages were seen."""
    seen = []

    async def listen(how):
        messages = m0.subscribe("leave")
        if how == "with":
            async with messages:
                seen.append(await messages.__anext__())
        elif how == "close":
            seen.append(await messages.__anext__())
            await messages.aclose()
            async for message in messages:
                seen.append("after the end")
        else:
            async for message in messages:
                seen.append(message)
                if how == "break":
                    break
                if how == "raise":
                    raise ValueError("left")

    rounds = int(query["rounds"][0])
    for _ in range(rounds):
        them = [asyncio.create_task(listen(how))
                for how in ("break", "cancel", "with", "close", "raise")]
        await asyncio.sleep(0)
        await m0.publish("leave", "x")
        await asyncio.wait([t for i, t in enumerate(them) if i != 1])
        them[1].cancel()
        await asyncio.wait(them)
        for task in them:
            if not task.cancelled():
                task.exception()
    return len(seen)


async def patience(m0, query, send):
    """A call that is cancelled loses no message, and the iterator goes on."""
    messages = m0.subscribe("patience")
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(messages.__anext__(), 0.05)
    await m0.publish("patience", "1")
    await m0.publish("patience", "2")
    first = await messages.__anext__()
    other = asyncio.create_task(messages.__anext__())
    second = await other
    waits = asyncio.create_task(messages.__anext__())
    await asyncio.sleep(0)
    try:
        await asyncio.wait_for(messages.__anext__(), 1)
        twice = "nothing"
    except asyncio.TimeoutError:
        twice = "it waits as well"
    except RuntimeError as error:
        twice = str(error)
    messages.close()
    try:
        await asyncio.wait_for(waits, 1)
        end = "a message"
    except asyncio.TimeoutError:
        end = "nothing"
    except StopAsyncIteration:
        end = "the end"
    return {"got": [first.data, second.data], "twice": twice, "end": end}


async def elsewhere(m0, query, send):
    """Publishes and subscribes on an event loop of another thread."""
    got = []

    async def there():
        messages = m0.subscribe("elsewhere")
        ready.set()
        async for message in messages:
            got.append(message.data)
            if message.data == "end":
                break
        await m0.publish("elsewhere-back", "done")

    ready = threading.Event()
    back = m0.subscribe("elsewhere-back")
    thread = threading.Thread(target=lambda: asyncio.run(there()))
    thread.start()
    await asyncio.get_running_loop().run_in_executor(None, ready.wait)
    for data in ("1", "2", "end"):
        await m0.publish("elsewhere", data)
        await asyncio.sleep(0.01)
    async for _ in back:
        break
    await asyncio.get_running_loop().run_in_executor(None, thread.join)
    return got


async def seen_early(m0, query, send):
    return early


async def loop_name(m0, query, send):
    return type(asyncio.get_running_loop()).__module__.partition(".")[0]


VIEWS = {f.__name__: f for f in (publish, wrong, overflow, leave, patience, elsewhere,
                                 seen_early, loop_name)}


async def start(send, kind):
    await send({"type": "http.response.start", "status": 200, "headers": [
        (b"content-type", kind), (b"x-worker", b"%d" % os.getpid())]})


async def app(scope, receive, send):
    """The application."""
    if scope["type"] == "lifespan":
        await lifespan(scope, receive, send)
        return
    query = parse_qs(scope["query_string"].decode(), keep_blank_values=True)
    name = scope["path"].strip("/")
    if name == "events":
        await events(scope["state"]["m0"], query, send)
        return
    try:
        answer = await VIEWS[name](scope["state"]["m0"], query, send)
    except ValueError as error:
        answer = "ValueError: %s" % error
    await start(send, b"application/json")
    await send({"type": "http.response.body", "body": json.dumps(answer).encode()})

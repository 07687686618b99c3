# SPDX-License-Identifier: MIT
"""Serves an ASGI application (version 3; http and websocket 2.5, lifespan 2.0).

The engine is a reader of the event loop: `turn` asks it what happened, and what the
application sends is a call of `native`. All of it runs on the thread of the loop, so nothing
here locks. `Native` below is what is used of the engine; wsgi/DECISIONS.md says the same for
the other side.

Limits: `receive` and `send` belong to the loop of the application's call. A disconnect is told
(`http.disconnect`, `websocket.disconnect`, OSError from `send`) and cancels nothing; a drain
tells what still runs, then cancels it, ahead of the bound of the drain.
"""

import asyncio
import os
import sys

from m0serve.channels import Channels
from m0serve.process import leave_child, report

# What turn() tells: the first item of each event.
REQUEST, DATA, GONE, DRAINED, CONNECT, MESSAGE, CLOSED, HEARD, STOP, ENDED = range(10)

# Where an answer, or a handshake, stands.
IDLE, STARTED, BODY, TRAILERS, DONE = range(5)

# Shares of the graceful timeout after which a drain tells, then cancels, what still runs.
TELL, CANCEL = 0.7, 0.85
CONFIG = 78  # exit status: there is no service to be had, and no sense in another try
LEAVE = 5  # seconds that what is left on the loop gets at the end
BLOCK = 256 << 10  # of a file that is sent
GRACE = 256  # sends to nobody once receive() tells the disconnect; half of them keep the loop
ROOM = 32  # messages taken before the engine is told; it sends twice as many ahead
REASON_MAX = 123  # bytes of a close frame's reason (RFC 6455 section 5.5)

HTTP_EXTENSIONS = ("http.response.early_hint", "http.response.trailers",
                   "http.response.pathsend", "http.response.zerocopysend")
EAGER = sys.version_info >= (3, 12)  # a task may take its first step at once


class Native:
    """What is used of the engine's module (for the reader: it is never made).

    A function that returns a bool says False when the client is slow: what it got is taken,
    and DRAINED follows. It raises OSError when the client is gone, ValueError and TypeError
    for what cannot be sent.
    """

    def start(self, kind, app, base, report, *unused): ...  # serves; what is wrong, or None
    def attach(self): ...  # -> two descriptors to watch for reading
    def turn(self): ...  # -> list of events
    def respond(self, token, status, headers, body, more): ...  # -> bool: head and first piece
    def write(self, token, body, more): ...  # -> bool
    def trailers(self, token, headers): ...
    def inform(self, token, headers): ...  # an interim answer 103
    def want(self, token): ...  # the next DATA
    def room(self, token, n): ...  # for so many MESSAGEs more
    def finish(self, token): ...  # the application has returned; without an answer it is 500
    def abort(self, token): ...  # the same, and what is open is broken off
    def ws_accept(self, token, subprotocol, headers): ...
    def ws_send(self, token, data): ...  # -> bool
    def ws_close(self, token, code, reason): ...
    def log(self, level, text): ...

    # See channels.py.
    def publish(self, channel, data, event, id): ...  # -> the id; "" is no event, no id
    def subscribe(self, token, channel): ...  # -> a token, given None
    def receive(self, token): ...  # -> (channel, event, data, id), or how many are missing,
    #                                or None: HEARD follows; or False: it is over
    def unsubscribe(self, token): ...


class Disconnected(OSError):
    """The client is gone: raised by `send`."""


def server(app, options, finish):
    """Returns a function that serves app until the engine ends; finish leaves."""
    return lambda: finish(Server(app, options).run())


def base_of(options):
    """What the scopes of one type have in common, by type."""
    bind = (options.get("Binds") or [{}])[0].get("Address", "")
    host, _, port = bind.rpartition(":")
    common = {
        "asgi": {"version": "3.0", "spec_version": "2.5"},
        "root_path": options.get("RootPath") or "",
        "server": (host.strip("[]"), int(port)) if port.isdigit() else (bind, None),
    }
    return {
        "http": dict(common, type="http", extensions={name: {} for name in HTTP_EXTENSIONS}),
        "websocket": dict(common, type="websocket", extensions={"websocket.http.response": {}}),
    }


def new_loop(kind):
    """An event loop: uvloop's where it is installed, unless kind says otherwise."""
    if kind != "asyncio":
        try:
            import uvloop
        except ImportError:
            if kind == "uvloop":
                raise SystemExit("uvloop is not installed; leave the choice of a loop out")
        else:
            return uvloop.new_event_loop()
    return asyncio.new_event_loop()


def is_of_disconnect(error):
    """Whether error comes of the OSError that send raised, however it was wrapped."""
    seen = set()
    open_ones = [error]
    while open_ones:
        error = open_ones.pop()
        if error is None or id(error) in seen:
            continue
        if isinstance(error, Disconnected):
            return True
        seen.add(id(error))
        open_ones += (error.__cause__, error.__context__, *getattr(error, "exceptions", ()))
    return False


class Server:
    """The life of the event loop. One for each process."""

    def __init__(self, app, options):
        self.app = app
        self.base = base_of(options)
        self.graceful = options.get("GracefulTimeout", 0) / 1e9  # seconds; 0: no bound
        self.loop = new_loop(options.get("Loop") or os.environ.get("M0_ASGI_LOOP"))
        self.lifespan = Lifespan(app, options.get("Lifespan") or "auto", self.loop)
        self.channels = self.lifespan.state["m0"] = Channels()
        self.calls = {}  # token: Exchange or Socket
        self.ended = self.loop.create_future()
        self.stopped_at = None  # loop time of STOP
        self.again = False  # a turn is on its way
        self.pid = os.getpid()

    def run(self):
        """Serves until the engine ends; the exit status."""
        asyncio.set_event_loop(self.loop)
        main = self.loop.create_task(self.main())
        try:
            while True:
                try:
                    return self.loop.run_until_complete(main)
                except (SystemExit, KeyboardInterrupt) as error:
                    # A task or a callback of the application's stops the loop by it.
                    self.leave_child(error)
                    if main.done():
                        raise
                    report(error, " outside of its calls; the server goes on")
        finally:
            try:
                self.loop.run_until_complete(self.end_rest(main))
            except BaseException as error:
                report(error, " at its end")

    async def end_rest(self, main):
        """Ends what the application left on the loop, within a bound: its tasks, then its
        generators."""
        rest = self.rest_of_drain()
        half = (LEAVE if rest is None else min(rest, LEAVE)) / 2
        tasks = asyncio.all_tasks() - {main, asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=half)
        for task in tasks:
            if task.done() and not task.cancelled() and task.exception() is not None:
                report(task.exception(), " at its end")
        generators = self.loop.create_task(self.loop.shutdown_asyncgens())
        await asyncio.wait([generators], timeout=half)
        if not generators.done() or not all(task.done() for task in tasks):
            native.log("WARN", "tasks of the application do not end; leaving without them")

    def leave_child(self, error):
        """Ends a child of fork that comes back from the application: it serves nothing."""
        if os.getpid() == self.pid:
            return
        if error is not None and not isinstance(error, SystemExit):
            report(error, " in a forked child")
        leave_child(error)

    async def main(self):
        """From the lifespan's startup to its shutdown."""
        if not await self.lifespan.startup():
            return CONFIG
        wrong = native.start("asgi", self.app, self.base, report, None, None)
        if wrong:
            print("m0serve: %s" % wrong, file=sys.stderr)
            return CONFIG
        watched = native.attach()
        for fd in watched:
            self.loop.add_reader(fd, self.turn)
        self.channels._attached()
        await self.ended
        for fd in watched:
            self.loop.remove_reader(fd)
        await self.cancel_rest()
        return 0 if await self.lifespan.shutdown(self.rest_of_drain()) else 1

    def turn(self):
        """One turn of the engine and all it tells."""
        try:
            events = native.turn()
        except RuntimeError as error:
            self.leave_child(error)
            raise
        if events and not self.again:
            self.again = True
            self.loop.call_soon(self.turn_again)
        for event in events:
            kind = event[0]
            if kind == REQUEST:
                _, token, scope, body = event
                scope["state"] = self.lifespan.state.copy()
                self.begin(Exchange(self, token, scope, body))
            elif kind == CONNECT:
                _, token, scope = event
                scope["state"] = self.lifespan.state.copy()
                self.begin(Socket(self, token, scope))
            elif kind == HEARD:
                self.channels._heard(event[1])
            elif kind == STOP:
                self.stop()
            elif kind == ENDED:
                if not self.ended.done():
                    self.ended.set_result(None)
            else:
                call = self.calls.get(event[1])
                if call is not None:
                    call.hear(event)

    def turn_again(self):
        self.again = False
        self.turn()

    def begin(self, call):
        """Calls the application."""
        self.calls[call.token] = call
        if EAGER:
            call.task = asyncio.Task(call.run(), loop=self.loop, eager_start=True)
        else:
            call.task = self.loop.create_task(call.run())

    def stop(self):
        """The drain begins: sockets are told at once, the rest when its time comes."""
        self.stopped_at = self.loop.time()
        for call in list(self.calls.values()):
            call.stop()
        if self.graceful:
            self.loop.call_later(self.graceful * TELL, self.tell_rest)

    def tell_rest(self):
        for call in list(self.calls.values()):
            call.tell()
        self.loop.call_later(self.graceful * (CANCEL - TELL), self.cancel_calls)

    def cancel_calls(self):
        for call in list(self.calls.values()):
            native.log("WARN", "cancelled at the end of the drain: %s" % call.name())
            call.task.cancel()

    def rest_of_drain(self):
        """The seconds that are left of the drain, with something kept to leave in."""
        if not self.graceful:
            return None
        begun = self.stopped_at if self.stopped_at is not None else self.loop.time()
        return max(begun + self.graceful * 0.95 - self.loop.time(), 0.1)

    async def cancel_rest(self):
        """Ends the calls that outlived their connections: work behind an answer mostly."""
        tasks = [call.task for call in self.calls.values() if not call.task.done()]
        if tasks:
            rest = self.rest_of_drain()
            await asyncio.wait(tasks, timeout=None if rest is None else rest / 2)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=0.1)


class Call:
    """What one call of the application has, be it for HTTP or a WebSocket."""

    __slots__ = ("server", "token", "scope", "task", "phase", "status", "headers", "gone",
                 "grace", "listener", "slow", "waiters")

    def __init__(self, server, token, scope):
        self.server = server
        self.token = token
        self.scope = scope
        self.phase = IDLE
        self.gone = False  # the client is
        self.grace = 0  # of GRACE, what is left
        self.listener = None  # the task that waits in receive(), or was last told of it there
        self.slow = False  # DRAINED is to come
        self.waiters = None  # futures, woken by anything that happens

    def name(self):
        """The call in a log line."""
        return "%s %s" % (self.scope.get("method", "WebSocket"), self.scope["path"])

    def wake(self):
        """Lets everybody who waits look again."""
        waiters, self.waiters = self.waiters, None
        if waiters:
            for future in waiters:
                if not future.done():
                    future.set_result(None)

    def wait(self):
        """A future that ends when something happens."""
        future = self.server.loop.create_future()
        if self.waiters is None:
            self.waiters = [future]
        else:
            self.waiters.append(future)
        return future

    async def drained(self):
        """Waits until the client has caught up."""
        self.slow = True
        while self.slow:
            if self.gone:
                return await self.send_to_nobody()
            await self.wait()

    def left(self):
        """The client is gone."""
        if not self.gone:
            self.gone = True
            self.grace = GRACE if self.listener else 0
        self.wake()

    async def send_to_nobody(self):
        """A send once the client is gone. Where another task waits for the disconnect, it is
        told there, and may then cancel what sends: best where that waits for something of its
        own, whose cleanup runs at once, and else here, as none may keep the loop. Whoever sends
        without that, or knows already, gets the error."""
        if not self.grace or self.listener is asyncio.current_task():
            raise Disconnected("the client is gone")
        self.grace -= 1
        if self.grace < GRACE // 2:
            await asyncio.sleep(0)

    async def run(self):
        """The application's call. No exception leaves it: SystemExit would end the loop."""
        error = None
        try:
            await self.server.app(self.scope, self.receive, self.send)
        except BaseException as reason:
            error = reason
        self.server.leave_child(error)
        del self.server.calls[self.token]
        if error is not None and not self.is_expected(error):
            report(error, " in " + self.name())
        self.end(error)
        error = None  # it refers to this frame: what the application held goes now
        self.phase = DONE
        self.wake()

    def is_expected(self, error):
        """Whether error needs no traceback: a client that left, or a drain."""
        if isinstance(error, asyncio.CancelledError):
            return self.server.stopped_at is not None
        return is_of_disconnect(error)

    def begin_answer(self, message):
        """Keeps the head until the first piece of the body comes (HTTP, Response Start)."""
        status = message["status"]
        if not isinstance(status, int) or not 200 <= status <= 999:
            raise ValueError("status %r is none of an answer" % (status,))
        self.status = status
        self.headers = message.get("headers", ())
        self.phase = STARTED

    async def add_to_answer(self, body, more):
        """Sends a piece of the body, and the head ahead of the first."""
        try:
            if self.phase == STARTED:
                fast = native.respond(self.token, self.status, self.headers, body, more)
                self.phase = BODY
                self.headers = None
            else:
                fast = native.write(self.token, body, more)
        except OSError:
            self.left()
        if self.gone:
            await self.send_to_nobody()
        elif not more:
            self.phase = DONE
            self.wake()
        elif not fast:
            await self.drained()


class Exchange(Call):
    """A request and its answer."""

    __slots__ = ("body", "more", "wanted", "told", "trailing")

    def __init__(self, server, token, scope, body):
        Call.__init__(self, server, token, scope)
        self.body = body  # what the application has not received yet
        self.more = body is None  # more of it is to come, by DATA
        self.wanted = False  # DATA was asked for
        self.told = False  # the drain ends: the application is to stop
        self.trailing = False  # trailers were announced, and the client takes them

    def hear(self, event):
        """Takes an event of the engine."""
        kind = event[0]
        if kind == DATA:
            self.body = event[2]
            self.more = event[3]
            self.wanted = False
        elif kind == GONE:
            self.left()
        elif kind == DRAINED:
            self.slow = False
        self.wake()

    def stop(self):
        """The drain begins: an answer may still be finished."""

    def tell(self):
        """The drain is about to end."""
        self.told = True
        self.wake()

    async def receive(self):
        """The next piece of the body, and behind it the disconnect, however long it takes."""
        while True:
            if self.phase == DONE:
                return {"type": "http.disconnect"}
            if self.body is not None:
                body = self.body
                self.body = None
                return {"type": "http.request", "body": body, "more_body": self.more}
            if self.gone:
                self.listener = asyncio.current_task()
                return {"type": "http.disconnect"}
            if self.told and not self.more:
                return {"type": "http.disconnect"}
            if self.more and not self.wanted:
                self.wanted = True
                native.want(self.token)
            self.listener = asyncio.current_task()
            try:
                await self.wait()
            finally:
                if not self.gone:
                    self.listener = None

    async def send(self, message):
        """Takes a message of the application."""
        kind = message["type"]
        if self.gone:
            return await self.send_to_nobody()
        if self.phase == DONE:
            return  # behind the end of the answer messages are ignored
        if kind == "http.response.body":
            more = bool(message.get("more_body", False))
            if self.phase == IDLE or self.phase == TRAILERS:
                raise RuntimeError("%s out of turn" % kind)
            if self.trailing and not more:
                await self.add_to_answer(message.get("body", b""), True)
                self.phase = TRAILERS
            else:
                await self.add_to_answer(message.get("body", b""), more)
        elif kind == "http.response.start":
            if self.phase != IDLE:
                raise RuntimeError("%s twice" % kind)
            self.begin_answer(message)
            if message.get("trailers"):
                self.trailing = takes_trailers(self.scope)
        else:
            await self.extend(kind, message)

    async def extend(self, kind, message):
        """Takes a message of an extension."""
        if self.phase == IDLE or kind not in HTTP_EXTENSIONS:
            raise RuntimeError("unexpected message %r" % (kind,))
        if kind == "http.response.early_hint":
            if self.phase == STARTED:  # behind the head a hint is too late
                native.inform(self.token, [(b"link", link) for link in message["links"]])
        elif kind == "http.response.trailers":
            if self.phase != TRAILERS:
                if self.trailing:
                    raise RuntimeError("%s ahead of the end of the body" % kind)
                return  # the client did not ask for them
            native.trailers(self.token, message.get("headers", ()))
            if not message.get("more_trailers", False):
                await self.add_to_answer(b"", False)
        elif self.phase == TRAILERS:
            raise RuntimeError("%s behind the body" % kind)
        elif kind == "http.response.pathsend":
            await self.send_path(message["path"])
        else:
            await self.send_file(message["file"], message.get("offset"), message.get("count"),
                                 bool(message.get("more_body", False)))

    async def send_path(self, path):
        """http.response.pathsend: a whole file, which is the answer's body."""
        run = self.server.loop.run_in_executor
        file = await run(None, open, path, "rb", 0)
        try:
            if self.phase == STARTED:
                self.headers = list(self.headers)
                if not any(bytes(name).lower() == b"content-length" for name, _ in self.headers):
                    size = os.fstat(file.fileno()).st_size
                    self.headers.append((b"content-length", b"%d" % size))
            await self.send_file(file, None, None, False)
        finally:
            file.close()

    async def send_file(self, file, offset, count, more):
        """http.response.zerocopysend: count bytes from offset, or from where the file stands.
        The engine takes bytes, so they are read, on another thread, block by block."""
        fd = file if isinstance(file, int) else file.fileno()
        if self.scope["method"] == "HEAD":
            count = 0
        elif offset is None and not isinstance(file, int) and hasattr(file, "tell"):
            offset = file.tell()
        while count is None or count > 0:
            size = BLOCK if count is None else min(count, BLOCK)
            block = await self.server.loop.run_in_executor(None, read_block, fd, offset, size)
            if not block:
                break
            await self.add_to_answer(block, True)
            if offset is not None:
                offset += len(block)
            if count is not None:
                count -= len(block)
        if not more:
            await self.add_to_answer(b"", False)

    def end(self, error):
        """The application has returned. Without an answer it is a 500; within one it is cut,
        so that nobody takes it for whole, and so it is for who has left or is not waited for."""
        if error is None and self.phase != DONE and not self.gone:
            native.log("ERROR", "the application returned without a whole answer in " + self.name())
        cancelled = isinstance(error, asyncio.CancelledError) and self.server.stopped_at is not None
        if self.phase == DONE or not (self.gone or cancelled or self.phase > STARTED):
            native.finish(self.token)
        else:
            native.abort(self.token)


def takes_trailers(scope):
    """Whether the client says that it takes trailers (RFC 9110 section 10.1.4)."""
    for name, value in scope["headers"]:
        if name == b"te" and b"trailers" in [part.strip() for part in value.lower().split(b",")]:
            return True
    return False


def read_block(fd, offset, size):
    """Reads a block of a file, where it stands if offset is None."""
    return os.read(fd, size) if offset is None else os.pread(fd, size, offset)


class Socket(Call):
    """A WebSocket. Its phase is that of its handshake: BODY once accepted, DONE once closed."""

    __slots__ = ("inbox", "taken", "asked", "denying", "last")

    def __init__(self, server, token, scope):
        Call.__init__(self, server, token, scope)
        self.inbox = []  # messages that came, the oldest last
        self.taken = 0  # of which the engine was not told
        self.asked = False  # websocket.connect was received
        self.denying = False  # the answer is an HTTP response of the application's
        self.last = None  # (code, reason) of the disconnect

    def hear(self, event):
        """Takes an event of the engine."""
        kind = event[0]
        if kind == MESSAGE:
            self.inbox.insert(0, event[2])
        elif kind == DRAINED:
            self.slow = False
        else:
            self.gone = True
            if self.last is None:
                self.last = (event[2], event[3]) if kind == CLOSED else (1006, "")
        self.wake()

    def stop(self):
        """The drain begins: 1012, service restart."""
        if self.phase == BODY and not self.denying and self.last is None:
            self.last = (1012, "")
            self.gone = True
            try:
                native.ws_close(self.token, 1012, "")
            except OSError:
                pass  # it is gone as well
            self.wake()

    def tell(self):
        """The drain is about to end."""
        if self.last is None:
            self.last = (1012, "")
            self.gone = True
            self.wake()

    async def receive(self):
        """The connect, each message, and the disconnect."""
        if not self.asked:
            self.asked = True
            return {"type": "websocket.connect"}
        while True:
            if self.inbox:
                data = self.inbox.pop()
                self.taken += 1
                if self.taken == ROOM:
                    self.taken = 0
                    if not self.gone:
                        native.room(self.token, ROOM)
                if isinstance(data, str):
                    return {"type": "websocket.receive", "text": data}
                return {"type": "websocket.receive", "bytes": data}
            if self.last is not None:
                return {"type": "websocket.disconnect", "code": self.last[0],
                        "reason": self.last[1]}
            await self.wait()

    async def send(self, message):
        """Takes a message of the application."""
        kind = message["type"]
        if self.gone or self.phase == DONE:
            raise Disconnected("the connection is closed")
        if self.phase == BODY and not self.denying:
            if kind == "websocket.send":
                try:
                    fast = native.ws_send(self.token, data_of(message))
                except OSError as error:
                    self.lost(error)
                if not fast:
                    await self.drained()
            elif kind == "websocket.close":
                self.close(message.get("code", 1000), message.get("reason") or "")
            else:
                raise RuntimeError("unexpected message %r behind websocket.accept" % (kind,))
        elif kind == "websocket.accept" and self.phase == IDLE:
            self.accept(message)
        elif kind == "websocket.close" and self.phase == IDLE:
            self.phase = STARTED
            self.status, self.headers = 403, ((b"content-length", b"0"),)
            self.last = (1006, "")
            await self.add_to_answer(b"", False)
        elif kind == "websocket.http.response.start" and self.phase == IDLE:
            self.begin_answer(message)
            self.denying = True
        elif kind == "websocket.http.response.body" and self.denying:
            more = bool(message.get("more_body", False))
            if not more:
                self.last = (1006, "")
            await self.add_to_answer(message.get("body", b""), more)
        else:
            raise RuntimeError("unexpected message %r in the handshake" % (kind,))

    def lost(self, error):
        """An OSError of the engine as send raises it."""
        self.left()
        raise Disconnected("the client is gone") from error

    def accept(self, message):
        """Completes the handshake."""
        try:
            native.ws_accept(self.token, message.get("subprotocol"), message.get("headers") or ())
        except OSError as error:
            self.lost(error)
        self.phase = BODY

    def close(self, code, reason):
        """Closes with a code that may be sent (RFC 6455 section 7.4)."""
        if not (1000 <= code <= 1014 and code not in (1004, 1005, 1006) or 3000 <= code <= 4999):
            raise ValueError("close code %r may not be sent" % (code,))
        if len(reason.encode()) > REASON_MAX:
            raise ValueError("the reason of a close has more than %d bytes" % REASON_MAX)
        try:
            native.ws_close(self.token, code, reason)
        except OSError as error:
            self.lost(error)
        self.phase = DONE

    def end(self, error):
        """The application has returned: 1000, and 1011 when it failed."""
        if self.phase == DONE or (error is None and not self.denying):
            native.finish(self.token)
        elif self.phase == BODY:
            native.abort(self.token)
        else:
            native.finish(self.token)


def data_of(message):
    """What a websocket.send carries: a str or bytes."""
    data = message.get("text")
    if data is None:
        data = message.get("bytes")
        if data is None:
            raise ValueError("websocket.send has neither text nor bytes")
        if isinstance(data, str):
            raise TypeError("bytes of websocket.send must be bytes, not str")
    elif not isinstance(data, str):
        raise TypeError("text of websocket.send must be str, not %s" % type(data).__name__)
    return data


class Lifespan:
    """Startup and shutdown of the application (lifespan 2.0)."""

    def __init__(self, app, mode, loop):
        self.app = app
        self.mode = mode
        self.loop = loop
        self.state = {}
        self.asked = 0  # messages received
        self.task = None
        self.error = None  # what the application raised
        self.started = loop.create_future()  # None, or the message of a failure
        self.stopping = loop.create_future()
        self.stopped = loop.create_future()  # None, or the message of a failure

    async def startup(self):
        """Whether the application may be served."""
        if self.mode == "off":
            return True
        self.task = self.loop.create_task(self.run())
        await asyncio.wait([self.task, self.started], return_when=asyncio.FIRST_COMPLETED)
        if self.started.done():
            wrong = self.started.result()
            if wrong is None:
                return True
            print("m0serve: the application failed to start: %s" % wrong, file=sys.stderr)
            return False
        return self.runs_without()

    def runs_without(self):
        """Whether an application may be served that ended its lifespan unstarted."""
        error = self.error
        if isinstance(error, SystemExit):
            print("m0serve: the application left at startup: %s" % (error.code,), file=sys.stderr)
            return False
        if self.mode == "on" or isinstance(error, KeyboardInterrupt):
            if error is not None:
                report(error, " at startup")
            else:
                print("m0serve: the application ended its lifespan without"
                      " lifespan.startup.complete", file=sys.stderr)
            return False
        if error is not None and self.asked:
            report(error, " at startup; it is served all the same, --lifespan on refuses it")
        return True

    async def run(self):
        """The application's call."""
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"},
                 "state": self.state}
        try:
            await self.app(scope, self.receive, self.send)
        except BaseException as error:
            self.error = error

    async def receive(self):
        """The startup, then the shutdown, then nothing any more."""
        self.asked += 1
        if self.asked == 1:
            return {"type": "lifespan.startup"}
        if self.asked == 2:
            await self.stopping
            return {"type": "lifespan.shutdown"}
        await self.loop.create_future()

    async def send(self, message):
        """Takes the application's word."""
        kind = message["type"]
        if kind in ("lifespan.startup.complete", "lifespan.startup.failed"):
            future = self.started
        elif kind in ("lifespan.shutdown.complete", "lifespan.shutdown.failed"):
            future = self.stopped
        else:
            raise RuntimeError("unexpected message %r in the lifespan" % (kind,))
        if future.done() or (future is self.stopped and not self.stopping.done()):
            raise RuntimeError("%s out of turn" % kind)
        failed = kind.endswith("failed")
        future.set_result((message.get("message") or "it does not say why") if failed else None)

    async def shutdown(self, seconds):
        """Tells the application and waits so long; whether it ended well."""
        if self.task is None or self.task.done() or not self.started.done():
            return True
        self.stopping.set_result(None)
        done, _ = await asyncio.wait([self.task, self.stopped], timeout=seconds,
                                     return_when=asyncio.FIRST_COMPLETED)
        if not done:
            native.log("ERROR", "the application's shutdown takes too long; leaving without it")
            self.task.cancel()
            return False
        if self.stopped.done():
            wrong = self.stopped.result()
            if wrong is not None:
                native.log("ERROR", "the application failed to shut down: %s" % wrong)
            return wrong is None
        if self.error is not None:
            report(self.error, " at shutdown")
            return False
        return True

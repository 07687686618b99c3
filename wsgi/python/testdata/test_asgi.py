# SPDX-License-Identifier: MIT
"""Tests of m0serve.asgi against an engine that is a script: python -m unittest test_asgi, in
this folder, with any Python from 3.9 on. M0_ASGI_LOOP chooses the event loop."""

import asyncio
import contextlib
import io
import os
import socket
import sys
import tempfile
import types
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("M0_ASGI_SOURCE", os.path.join(HERE, "..", "m0serve", "asgi.py"))


def load(native):
    """The module as the engine makes it: with `native` in it."""
    sys.modules["m0serve"] = types.ModuleType("m0serve")
    load_file("process", os.path.join(HERE, "..", "m0serve", "process.py"), native)
    load_file("channels", os.path.join(HERE, "..", "m0serve", "channels.py"), native)
    return load_file("asgi", SOURCE, native)


def load_file(name, source, native):
    """One module of the package."""
    module = types.ModuleType("m0serve." + name)
    module.native = native
    sys.modules[module.__name__] = module
    with open(source, encoding="utf-8") as file:
        exec(compile(file.read(), source, "exec"), module.__dict__)
    return module


class Engine:
    """An engine that tells what it is given and notes what it is asked for."""

    def __init__(self):
        self.readable, self.writable = socket.socketpair()
        self.told = []  # events of the next turn
        self.asked = []  # (function, arguments)
        self.slow = False  # answers of respond, write and ws_send
        self.gone = set()  # tokens whose client is gone
        self.refuse = None  # an exception of respond

    def tell(self, *event):
        """Has event told by a turn."""
        self.told.append(event)
        self.writable.send(b"x")

    def start(self, kind, app, base, *hooks):
        self.base = base
        return self.note("start", kind)

    def attach(self):
        return (self.readable.fileno(),)

    def turn(self):
        with contextlib.suppress(BlockingIOError):
            self.readable.setblocking(False)
            self.readable.recv(1000)
        told, self.told = self.told, []
        return told

    def note(self, name, *args):
        self.asked.append((name, *args))

    def out(self, name, token, *args):
        if token in self.gone:
            raise OSError("the client is gone")
        self.note(name, token, *args)
        return not self.slow

    def respond(self, token, status, headers, body, more):
        if self.refuse:
            raise self.refuse
        return self.out("respond", token, status, list(headers), bytes(body), more)

    def write(self, token, body, more):
        return self.out("write", token, bytes(body), more)

    def ws_send(self, token, data):
        return self.out("ws_send", token, data)

    def __getattr__(self, name):
        return lambda *args: self.note(name, *args)

    def close(self):
        self.readable.close()
        self.writable.close()

    def calls(self, *names):
        """What was asked for by those names."""
        return [c for c in self.asked if c[0] in names]


def scope_of(kind="http", **more):
    scope = {"type": kind, "path": "/", "headers": [], "extensions": {}}
    if kind == "http":
        scope["method"] = "GET"
    scope.update(more)
    return scope


class Case(unittest.TestCase):
    """Runs a script beside the server."""

    options = {"Lifespan": "off", "Loop": os.environ.get("M0_ASGI_LOOP", "asyncio")}

    def serve(self, app, script, **options):
        """Serves app while script(engine, module) runs; it ends with ENDED. The exit status."""
        engine = Engine()
        self.engine = engine
        m = self.module = load(engine)
        self.errors = io.StringIO()
        server = self.server = m.Server(app, {**self.options, **options})

        async def act():
            try:
                await asyncio.wait_for(script(engine, m), 10)
            finally:
                engine.tell(m.ENDED)

        async def main():
            return (await asyncio.gather(serving(), act()))[0]

        serving = server.main
        server.main = main
        try:
            with contextlib.redirect_stderr(self.errors):
                return server.run()
        finally:
            # What an application of a test asserts reaches the server alone.
            self.assertNotIn("AssertionError", self.errors.getvalue())
            server.loop.close()
            asyncio.set_event_loop(None)
            engine.close()

    async def until(self, ok):
        """Waits until ok() is true."""
        for _ in range(2000):
            if ok():
                return
            await asyncio.sleep(0.001)
        self.fail("waited in vain; asked: %r" % (self.engine.asked,))

    async def parked(self, token=7):
        """Waits until the application's call waits for something of the engine."""
        await self.until(lambda: token in self.server.calls and self.server.calls[token].waiters)

    async def finished(self, *names):
        """Waits for finish or abort."""
        await self.until(lambda: self.engine.calls(*(names or ("finish", "abort"))))


async def start(send, status=200, **more):
    await send({"type": "http.response.start", "status": status, **more})


async def body(send, data=b"", more=False):
    await send({"type": "http.response.body", "body": data, "more_body": more})


class HTTP(Case):
    """Exchange."""

    def ask(self, app, *events, scope=None, data=b"", names=()):
        """One request, then events once the application waits; what was asked."""
        async def script(engine, m):
            engine.tell(m.REQUEST, 7, scope or scope_of(), data)
            for event in events:
                await self.parked()
                engine.tell(*event(m))
                await self.until(lambda: not engine.told)
            await self.finished(*names)

        self.serve(app, script)
        return self.engine.calls("respond", "write", "finish", "abort", "want", "trailers",
                                 "inform")

    def test_answer(self):
        async def app(scope, receive, send):
            self.assertEqual(await receive(),
                             {"type": "http.request", "body": b"in", "more_body": False})
            await start(send, headers=[(b"a", b"b")])
            await body(send, b"out")

        self.assertEqual(self.ask(app, data=b"in"), [
            ("respond", 7, 200, [(b"a", b"b")], b"out", False), ("finish", 7)])

    def test_head_waits_for_the_body(self):
        async def app(scope, receive, send):
            await start(send)
            self.assertEqual(self.engine.calls("respond"), [])
            await body(send)

        self.assertEqual(self.ask(app)[0], ("respond", 7, 200, [], b"", False))

    def test_stream(self):
        async def app(scope, receive, send):
            await start(send)
            await body(send, b"1", True)
            await body(send, b"2", True)
            await body(send)

        self.assertEqual(self.ask(app), [
            ("respond", 7, 200, [], b"1", True), ("write", 7, b"2", True),
            ("write", 7, b"", False), ("finish", 7)])

    def test_body_in_pieces(self):
        got = []

        async def app(scope, receive, send):
            got.append(await receive())
            got.append(await receive())
            await start(send)
            await body(send)

        asked = self.ask(app, lambda m: (m.DATA, 7, b"1", True), lambda m: (m.DATA, 7, b"2", False),
                         data=None)
        self.assertEqual([(g["body"], g["more_body"]) for g in got], [(b"1", True), (b"2", False)])
        self.assertEqual([c[0] for c in asked], ["want", "want", "respond", "finish"])

    def test_cancelled_receive_loses_nothing(self):
        got = []

        async def app(scope, receive, send):
            task = asyncio.ensure_future(receive())
            await asyncio.sleep(0)
            task.cancel()
            task = asyncio.ensure_future(receive())
            await asyncio.sleep(0)
            self.engine.tell(self.module.DATA, 7, b"kept", False)
            got.append((await task)["body"])
            await start(send)
            await body(send)

        asked = self.ask(app, data=None)
        self.assertEqual(got, [b"kept"])
        self.assertEqual(len([c for c in asked if c[0] == "want"]), 1)

    def leave(self, sends, when):
        """What sends(send) raises, when the client leaves beside a task that waits for it."""
        raised = []

        async def sending(send):
            try:
                await sends(send)
            except BaseException as error:
                raised.append(type(error).__name__)

        async def app(scope, receive, send):
            await receive()
            await start(send)
            hearing = asyncio.ensure_future(receive())
            task = asyncio.ensure_future(sending(send))
            await hearing
            task.cancel()
            await task

        def gone(m):
            when()
            return (m.GONE, 7)

        asked = self.ask(app, gone)
        self.assertEqual(asked[-1], ("abort", 7))
        self.assertEqual(self.errors.getvalue(), "")
        return raised

    def test_leaving_is_told_to_who_listens(self):
        where = []

        async def pauses(send):
            while True:
                where.append("send")
                await body(send, b"1", True)
                where.append("pause")
                await asyncio.sleep(0)

        async def hurries(send):
            while True:
                where.append("send")
                await body(send, b"1", True)
                if not self.engine.gone:
                    await asyncio.sleep(0)

        def slow():
            self.engine.slow = True

        def gone():
            self.engine.gone.add(7)

        for sends, when, last in ((pauses, int, "pause"), (pauses, gone, "pause"),
                                  (pauses, slow, "pause"), (hurries, gone, "send")):
            with self.subTest(sends=sends.__name__, when=when.__name__):
                self.assertEqual(self.leave(sends, when), ["CancelledError"])
                self.assertEqual(where[-1], last)

    def test_sends_to_nobody_end(self):
        sends = []

        async def app(scope, receive, send):
            await receive()
            await start(send)
            hearing = asyncio.ensure_future(receive())
            await body(send, b"1", True)
            await hearing
            with self.assertRaises(OSError):
                while True:
                    sends.append(1)
                    await body(send, b"1", True)

        asked = self.ask(app, lambda m: (m.GONE, 7))
        self.assertEqual(len(sends), self.module.GRACE + 1)
        self.assertEqual(asked[-1], ("abort", 7))

    def test_receive_waits_for_gone(self):
        got = []

        async def app(scope, receive, send):
            await receive()
            got.append(await receive())
            got.append(await receive())
            with self.assertRaises(OSError):
                await start(send)
            raise RuntimeError("shown")

        asked = self.ask(app, lambda m: (m.GONE, 7))
        self.assertEqual(got, [{"type": "http.disconnect"}] * 2)
        self.assertEqual(asked, [("abort", 7)])
        self.assertIn("RuntimeError: shown", self.errors.getvalue())

    def test_disconnect_behind_the_answer(self):
        got = []

        async def app(scope, receive, send):
            waiting = asyncio.ensure_future(receive())
            await waiting
            waiting = asyncio.ensure_future(receive())
            await start(send)
            await body(send)
            await body(send, b"ignored")
            got.append(await waiting)

        self.ask(app)
        self.assertEqual(got, [{"type": "http.disconnect"}])
        self.assertEqual(self.engine.calls("write"), [])

    def test_send_waits_for_a_slow_client(self):
        steps = []

        async def app(scope, receive, send):
            await start(send)
            self.engine.slow = True
            steps.append("full")
            await body(send, b"1", True)
            steps.append("drained")
            self.engine.slow = False
            await body(send)

        async def script(engine, m):
            engine.tell(m.REQUEST, 7, scope_of(), b"")
            await self.until(lambda: steps)
            await asyncio.sleep(0.01)
            self.assertEqual(steps, ["full"])
            engine.tell(m.DRAINED, 7)
            await self.finished()

        self.serve(app, script)
        self.assertEqual(steps, ["full", "drained"])

    def test_waiting_send_is_released(self):
        raised = []

        async def app(scope, receive, send):
            await start(send)
            self.engine.slow = True
            try:
                await body(send, b"1", True)
            except OSError as error:
                raised.append(error)
                raise

        asked = self.ask(app, lambda m: (m.GONE, 7))
        self.assertEqual(len(raised), 1)
        self.assertEqual(asked[-1], ("abort", 7))
        self.assertEqual(self.errors.getvalue(), "")

    def test_wrapped_disconnect_is_quiet(self):
        class Left(Exception):
            pass

        async def app(scope, receive, send):
            await receive()
            await receive()
            try:
                await start(send)
            except OSError:
                raise Left()

        self.ask(app, lambda m: (m.GONE, 7))
        self.assertEqual(self.errors.getvalue(), "")

    def test_engine_says_gone(self):
        async def app(scope, receive, send):
            self.engine.gone.add(7)
            await start(send)
            await body(send)

        self.assertEqual(self.ask(app), [("abort", 7)])
        self.assertEqual(self.errors.getvalue(), "")

    def test_exceptions(self):
        for reason in (RuntimeError("r"), SystemExit(3), KeyboardInterrupt(),
                       asyncio.CancelledError()):
            for ahead, want in ((True, ("finish", 7)), (False, ("abort", 7))):
                async def app(scope, receive, send):
                    await start(send)
                    if not ahead:
                        await body(send, b"part", True)
                    raise reason

                with self.subTest(reason=reason, ahead=ahead):
                    self.assertEqual(self.ask(app)[-1], want)
                    self.assertIn(type(reason).__name__, self.errors.getvalue())

    def test_returns_too_early(self):
        async def silent(scope, receive, send):
            pass

        async def half(scope, receive, send):
            await start(send)
            await body(send, b"part", True)

        self.assertEqual(self.ask(silent), [("finish", 7)])
        self.assertEqual(self.ask(half)[-1], ("abort", 7))
        self.assertEqual(self.engine.calls("log")[0][1], "ERROR")

    def test_misuse(self):
        head = {"type": "http.response.start", "status": 200}
        for messages in (
            [{"type": "http.response.body"}], [head, head], [{"type": "nonsense"}],
            [{"status": 200}], [{**head, "status": "200"}], [{**head, "status": 101}],
            [head, {"type": "http.response.trailers", "headers": []}, head],
            [{"type": "http.response.pathsend", "path": SOURCE}],
        ):
            raised = []

            async def app(scope, receive, send):
                for message in messages:
                    try:
                        await send(message)
                    except Exception as error:
                        raised.append(error)
                        raise

            with self.subTest(messages=messages):
                self.assertEqual(self.ask(app), [("finish", 7)])
                self.assertEqual(len(raised), 1)

    def test_refused_headers(self):
        async def app(scope, receive, send):
            self.engine.refuse = ValueError("not valid")
            await start(send, headers=[(b"a\n", b"b")])
            await body(send)

        self.assertEqual(self.ask(app), [("finish", 7)])
        self.assertIn("ValueError: not valid", self.errors.getvalue())

    def test_trailers(self):
        async def app(scope, receive, send):
            await start(send, trailers=True)
            await body(send, b"x")
            await send({"type": "http.response.trailers", "headers": [(b"a", b"1")],
                        "more_trailers": True})
            await send({"type": "http.response.trailers", "headers": [(b"b", b"2")]})

        asked = self.ask(app, scope=scope_of(headers=[(b"te", b"gzip, Trailers")]))
        self.assertEqual(asked, [
            ("respond", 7, 200, [], b"x", True), ("trailers", 7, [(b"a", b"1")]),
            ("trailers", 7, [(b"b", b"2")]), ("write", 7, b"", False), ("finish", 7)])
        self.assertEqual(self.ask(app), [("respond", 7, 200, [], b"x", False), ("finish", 7)])

    def test_early_hint(self):
        async def app(scope, receive, send):
            await start(send)
            hint = {"type": "http.response.early_hint", "links": iter([b"</a>", b"</b>"])}
            await send(hint)
            await body(send, b"", True)
            await send({**hint, "links": [b"late"]})
            await body(send)

        self.assertEqual(self.ask(app)[0], ("inform", 7, [(b"link", b"</a>"), (b"link", b"</b>")]))
        self.assertEqual(len(self.engine.calls("inform")), 1)

    def test_files(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"0123456789")
            file.flush()

            async def path(scope, receive, send):
                await start(send)
                await send({"type": "http.response.pathsend", "path": file.name})

            async def zero(scope, receive, send):
                part = {"type": "http.response.zerocopysend", "file": file, "more_body": True}
                await start(send)
                await send({**part, "offset": 2, "count": 3})
                file.seek(7)
                await send({**part, "more_body": False})

            asked = self.ask(path)
            self.assertEqual(asked, [
                ("respond", 7, 200, [(b"content-length", b"10")], b"0123456789", True),
                ("write", 7, b"", False), ("finish", 7)])
            data = [c[-2] for c in self.ask(zero) if c[0] in ("respond", "write")]
            self.assertEqual(data, [b"234", b"789", b""])
            asked = self.ask(path, scope=scope_of(method="HEAD"))
            self.assertEqual(asked[0], ("respond", 7, 200, [(b"content-length", b"10")], b"", False))

    def test_state_is_a_copy(self):
        seen = []

        async def app(scope, receive, send):
            if scope["type"] == "lifespan":
                scope["state"]["made"] = 1
                await receive()
                await send({"type": "lifespan.startup.complete"})
                await receive()
                await send({"type": "lifespan.shutdown.complete"})
                return
            seen.append(dict(scope["state"]))
            scope["state"]["mark"] = 1
            await start(send)
            await body(send)

        async def script(engine, m):
            for token in (1, 2):
                engine.tell(m.REQUEST, token, scope_of(), b"")
            await self.until(lambda: len(engine.calls("finish")) == 2)

        self.assertEqual(self.serve(app, script, Lifespan="on"), 0)
        self.assertEqual(seen, [{"made": 1, "m0": self.server.channels}] * 2)

    def test_drain(self):
        heard = []

        async def app(scope, receive, send):
            await start(send)
            await body(send, b"on", True)
            if scope["path"] == "/hears":
                await receive()
                heard.append((await receive())["type"])
                await body(send)
                return
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                heard.append("cancelled")
                raise

        async def script(engine, m):
            engine.tell(m.REQUEST, 1, scope_of(path="/hears"), b"")
            engine.tell(m.REQUEST, 2, scope_of(path="/deaf"), b"")
            await self.until(lambda: len(engine.calls("respond")) == 2)
            engine.tell(m.STOP)
            await self.until(lambda: engine.calls("abort"))

        self.assertEqual(self.serve(app, script, GracefulTimeout=200_000_000), 0)
        self.assertEqual(heard, ["http.disconnect", "cancelled"])
        self.assertEqual(self.engine.calls("finish", "abort"), [("finish", 1), ("abort", 2)])
        self.assertEqual(self.errors.getvalue(), "")


class WebSockets(Case):
    """Socket."""

    def ask(self, app, *events, names=(), parked=True):
        """One WebSocket, then events, each once the application waits; what was asked."""
        async def script(engine, m):
            engine.tell(m.CONNECT, 7, scope_of("websocket"))
            for event in events:
                if parked:
                    await self.parked()
                engine.tell(*event(m))
                await self.until(lambda: not engine.told)
            await self.finished(*names)

        self.serve(app, script)
        return [c for c in self.engine.asked if c[0] not in ("start", "log")]

    @staticmethod
    async def accept(receive, send, **more):
        assert (await receive())["type"] == "websocket.connect"
        await send({"type": "websocket.accept", **more})

    def test_echo(self):
        got = []

        async def app(scope, receive, send):
            await self.accept(receive, send, subprotocol="a", headers=[(b"x", b"y")])
            while True:
                message = await receive()
                got.append(message)
                if message["type"] == "websocket.disconnect":
                    return
                await send({"type": "websocket.send", **{k: v for k, v in message.items()
                                                         if k != "type"}})

        asked = self.ask(app, lambda m: (m.MESSAGE, 7, "t"), lambda m: (m.MESSAGE, 7, b"b"),
                         lambda m: (m.CLOSED, 7, 3000, "why"))
        self.assertEqual(asked, [
            ("ws_accept", 7, "a", [(b"x", b"y")]), ("ws_send", 7, "t"), ("ws_send", 7, b"b"),
            ("finish", 7)])
        self.assertEqual(got[-1], {"type": "websocket.disconnect", "code": 3000, "reason": "why"})

    def test_room(self):
        async def app(scope, receive, send):
            await self.accept(receive, send)
            for n in range(70):
                self.assertEqual((await receive())["text"], str(n))
            await receive()

        def message(n):
            return lambda m: (m.MESSAGE, 7, str(n))

        asked = self.ask(app, *map(message, range(70)), lambda m: (m.CLOSED, 7, 1000, ""),
                         parked=False)
        self.assertEqual(asked[1:], [("room", 7, 32), ("room", 7, 32), ("finish", 7)])

    def test_messages_ahead_of_the_close_are_heard(self):
        got = []

        async def app(scope, receive, send):
            await self.accept(receive, send)
            await self.until(lambda: self.server.calls[7].last)
            for _ in range(3):
                got.append((await receive()).get("text"))

        self.ask(app, lambda m: (m.MESSAGE, 7, "1"), lambda m: (m.MESSAGE, 7, "2"),
                 lambda m: (m.CLOSED, 7, 1000, ""), parked=False)
        self.assertEqual(got, ["1", "2", None])

    def test_refusals(self):
        async def close(scope, receive, send):
            await receive()
            await send({"type": "websocket.close"})
            self.assertEqual((await receive())["code"], 1006)

        async def deny(scope, receive, send):
            await receive()
            await send({"type": "websocket.http.response.start", "status": 401})
            await send({"type": "websocket.http.response.body", "body": b"n", "more_body": True})
            await send({"type": "websocket.http.response.body", "body": b"o"})
            self.assertEqual((await receive())["type"], "websocket.disconnect")

        async def silent(scope, receive, send):
            pass

        async def fails(scope, receive, send):
            raise RuntimeError("no")

        self.assertEqual(self.ask(close), [
            ("respond", 7, 403, [(b"content-length", b"0")], b"", False), ("finish", 7)])
        self.assertEqual(self.ask(deny), [
            ("respond", 7, 401, [], b"n", True), ("write", 7, b"o", False), ("finish", 7)])
        self.assertEqual(self.ask(silent), [("finish", 7)])
        self.assertEqual(self.ask(fails), [("finish", 7)])

    def test_close(self):
        async def app(scope, receive, send):
            await self.accept(receive, send)
            await send({"type": "websocket.close", "code": 4000, "reason": "r"})
            with self.assertRaises(OSError):
                await send({"type": "websocket.send", "text": "late"})
            self.assertEqual((await receive())["code"], 4000)

        asked = self.ask(app, lambda m: (m.CLOSED, 7, 4000, "r"))
        self.assertEqual(asked[1:], [("ws_close", 7, 4000, "r"), ("finish", 7)])
        self.assertEqual(self.errors.getvalue(), "")

    def test_application_ends(self):
        async def returns(scope, receive, send):
            await self.accept(receive, send)

        async def fails(scope, receive, send):
            await self.accept(receive, send)
            raise SystemExit(3)

        self.assertEqual(self.ask(returns)[-1], ("finish", 7))
        self.assertEqual(self.ask(fails)[-1], ("abort", 7))

    def test_misuse(self):
        accept = {"type": "websocket.accept"}
        for messages in (
            [{"type": "websocket.send", "text": "x"}], [accept, accept], [{"type": "nonsense"}],
            [accept, {"type": "websocket.send"}], [accept, {"type": "websocket.send", "text": b"x"}],
            [accept, {"type": "websocket.send", "bytes": "x"}],
            [accept, {"type": "websocket.close", "code": 1006}],
            [accept, {"type": "websocket.close", "reason": "\u00e9" * 62}],
            [accept, {"type": "websocket.http.response.start", "status": 401}],
        ):
            raised = []

            async def app(scope, receive, send):
                for message in messages:
                    try:
                        await send(message)
                    except Exception as error:
                        raised.append(error)
                        raise

            with self.subTest(messages=messages):
                self.ask(app)
                self.assertEqual(len(raised), 1)

    def test_send_waits_and_is_released(self):
        steps = []

        async def app(scope, receive, send):
            await self.accept(receive, send)
            self.engine.slow = True
            await send({"type": "websocket.send", "text": "1"})
            steps.append("drained")
            try:
                await send({"type": "websocket.send", "text": "2"})
            except OSError:
                steps.append("OSError")

        self.ask(app, lambda m: (m.DRAINED, 7), lambda m: (m.CLOSED, 7, 1006, ""))
        self.assertEqual(steps, ["drained", "OSError"])

    def test_leaves_ahead_of_accept(self):
        async def app(scope, receive, send):
            await receive()
            self.assertEqual(await receive(), {"type": "websocket.disconnect", "code": 1006,
                                               "reason": ""})

        self.assertEqual(self.ask(app, lambda m: (m.GONE, 7)), [("finish", 7)])

    def test_drain(self):
        got = []

        async def app(scope, receive, send):
            await self.accept(receive, send)
            got.append((await receive())["code"])

        asked = self.ask(app, lambda m: (m.STOP,))
        self.assertEqual(got, [1012])
        self.assertEqual(asked[1:], [("ws_close", 7, 1012, ""), ("finish", 7)])


class Lifespans(Case):
    """Lifespan."""

    def live(self, script, mode="auto", **options):
        """Serves an application whose lifespan is script; (status, whether it was served)."""
        async def app(scope, receive, send):
            self.assertEqual(scope["type"], "lifespan")
            self.assertEqual(scope["asgi"]["spec_version"], "2.0")
            await script(receive, send)

        async def nothing(engine, m):
            await asyncio.sleep(0.02)

        status = self.serve(app, nothing, Lifespan=mode, **options)
        return status, bool(self.engine.calls("start"))

    def test_whole(self):
        steps = []

        async def script(receive, send):
            steps.append((await receive())["type"])
            await send({"type": "lifespan.startup.complete"})
            steps.append((await receive())["type"])
            await send({"type": "lifespan.shutdown.complete"})

        self.assertEqual(self.live(script), (0, True))
        self.assertEqual(steps, ["lifespan.startup", "lifespan.shutdown"])

    def test_unsupported(self):
        async def fails(receive, send):
            raise LookupError("no lifespan here")

        async def returns(receive, send):
            return

        async def late(receive, send):
            await receive()
            raise RuntimeError("behind the message")

        self.assertEqual(self.live(fails), (0, True))
        self.assertEqual(self.errors.getvalue(), "")
        self.assertEqual(self.live(returns), (0, True))
        self.assertEqual(self.live(late), (0, True))
        self.assertIn("behind the message", self.errors.getvalue())
        for script in (fails, returns, late):
            self.assertEqual(self.live(script, "on"), (78, False))
            self.assertNotEqual(self.errors.getvalue(), "")

    def test_failed(self):
        async def script(receive, send):
            await receive()
            await send({"type": "lifespan.startup.failed", "message": "no database"})

        for mode in ("auto", "on"):
            self.assertEqual(self.live(script, mode), (78, False))
            self.assertEqual(self.errors.getvalue(),
                             "m0serve: the application failed to start: no database\n")

    def test_exit(self):
        async def script(receive, send):
            await receive()
            sys.exit("not today")

        self.assertEqual(self.live(script), (78, False))
        self.assertIn("not today", self.errors.getvalue())

    def test_off(self):
        async def script(receive, send):
            self.fail("asked")

        self.assertEqual(self.live(script, "off"), (0, True))

    def test_shutdown(self):
        async def begun(receive, send):
            await receive()
            await send({"type": "lifespan.startup.complete"})

        async def stuck(receive, send):
            await begun(receive, send)
            await receive()
            await asyncio.sleep(3600)

        async def failed(receive, send):
            await begun(receive, send)
            await receive()
            await send({"type": "lifespan.shutdown.failed", "message": "not flushed"})

        async def dies(receive, send):
            await begun(receive, send)
            await receive()
            raise RuntimeError("at the end")

        self.assertEqual(self.live(begun), (0, True))
        self.assertEqual(self.live(stuck, GracefulTimeout=100_000_000), (1, True))
        self.assertEqual(self.live(failed), (1, True))
        self.assertIn("not flushed", self.engine.calls("log")[0][2])
        self.assertEqual(self.live(dies), (1, True))
        self.assertIn("at the end", self.errors.getvalue())

    def test_misuse(self):
        async def script(receive, send):
            for kind in ("lifespan.shutdown.complete", "http.response.start"):
                with self.assertRaises(RuntimeError):
                    await send({"type": kind})
            await send({"type": "lifespan.startup.complete"})
            with self.assertRaises(RuntimeError):
                await send({"type": "lifespan.startup.complete"})

        self.assertEqual(self.live(script, "on"), (0, True))


class Scopes(Case):
    """What every scope has."""

    def test_base(self):
        m = load(Engine())
        base = m.base_of({"Binds": [{"Address": "[::1]:80"}], "RootPath": "/r"})
        self.assertEqual(base["http"]["server"], ("::1", 80))
        self.assertEqual(base["http"]["root_path"], "/r")
        self.assertEqual(base["websocket"]["asgi"], {"version": "3.0", "spec_version": "2.5"})
        self.assertEqual(list(base["websocket"]["extensions"]), ["websocket.http.response"])
        base = m.base_of({"Binds": [{"Address": "/run/app.sock"}]})
        self.assertEqual(base["http"]["server"], ("/run/app.sock", None))
        m.native.close()


if __name__ == "__main__":
    unittest.main()

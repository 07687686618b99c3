# SPDX-License-Identifier: MIT
"""m0pub against a service that is a script. M0_PUB_SOURCE is where the package lies."""

import asyncio
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

sys.path.insert(0, os.environ["M0_PUB_SOURCE"])

import m0pub
from m0pub import _find, _wire

PATIENCE = 10.0


def read(conn, size):
    data = b""
    while len(data) < size:
        part = conn.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def take(conn):
    """Reads one request: a list of (channel, event, id, data)."""
    magic, size = struct.unpack(">4sI", read(conn, 8))
    assert magic == b"m0p1", magic
    payload = read(conn, size)
    (count,) = struct.unpack_from(">H", payload)
    at, messages = 2, []
    for _ in range(count):
        form, *sizes = struct.unpack_from(">BHHHI", payload, at)
        assert form == 0
        at += 11
        fields = []
        for n in sizes:
            fields.append(payload[at : at + n].decode())
            at += n
        messages.append(tuple(fields))
    assert at == len(payload)
    return messages


def answer(conn, outcomes):
    body = b"\0"
    for outcome in outcomes:
        reason = outcome.encode() if isinstance(outcome, str) else b""
        number = outcome if isinstance(outcome, int) else 0
        body += struct.pack(">BQH", isinstance(outcome, str), number, len(reason)) + reason
    conn.sendall(struct.pack(">4sI", b"m0p1", len(body)) + body)


class Service:
    """Serves connection n with script n, the last one for all that follow."""

    def __init__(self, path, *scripts):
        self.path, self.scripts = path, scripts or (self.honest,)
        self.messages, self.connections, self.ids = [], 0, 0
        self.lock = threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        self.open = []
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                script = self.scripts[min(self.connections, len(self.scripts) - 1)]
                self.connections += 1
                self.open.append(conn)
            threading.Thread(target=self.run, args=(script, conn), daemon=True).start()

    def run(self, script, conn):
        try:
            script(conn)
        except (EOFError, OSError):
            pass
        conn.close()

    def honest(self, conn):
        while True:
            self.once(conn)

    def once(self, conn):
        messages = take(conn)
        with self.lock:
            self.messages += messages
            first = self.ids + 1
            self.ids += len(messages)
        answer(conn, range(first, first + len(messages)))

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        for conn in self.open:
            try:
                conn.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp())
        homes = mock.patch.object(_find, "HOMES", self.dir)
        homes.start()
        self.addCleanup(homes.stop)
        environ = mock.patch.dict(os.environ)
        environ.start()
        self.addCleanup(environ.stop)
        os.environ.pop(_find.ENV, None)
        os.environ["PYTHONPATH"] = os.environ["M0_PUB_SOURCE"]
        self.site = os.path.join(self.dir, "site")
        os.mkdir(self.site)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.site)

    def serve(self, *scripts, name="s"):
        service = Service(os.path.join(self.dir, name), *scripts)
        self.addCleanup(service.stop)
        return service

    def publisher(self, service, timeout=PATIENCE):
        publisher = m0pub.Publisher(service.path, timeout)
        self.addCleanup(publisher.close)
        return publisher

    def place(self, name, directory=None, mode=0o700):
        """The path of a socket where a service of that directory has it."""
        where = _find.place(directory or self.site)
        os.makedirs(where, exist_ok=True)
        os.chmod(_find.home(), mode)
        return os.path.join(where, name + ".sock")


class TestPublish(Case):
    def test_fields_and_ids(self):
        service = self.serve()
        publisher = self.publisher(service)
        self.assertEqual(publisher.publish("c", "hello"), 1)
        self.assertEqual(publisher.publish("ä", "a\nb\0", event="e", id=7), 2)
        many = [m0pub.Message("c", "x"), ("d", "y", "n"), ("d", "", None, "i")]
        self.assertEqual(publisher.publish_many(many), [3, 4, 5])
        self.assertEqual(publisher.publish_many([]), [])
        self.assertEqual(
            service.messages,
            [("c", "", "", "hello"), ("ä", "e", "7", "a\nb\0"), ("c", "", "", "x"),
             ("d", "n", "", "y"), ("d", "", "i", "")],
        )
        self.assertEqual(service.connections, 1)

    def test_many_are_cut_into_requests(self):
        service = self.serve()
        publisher = self.publisher(service)
        count = 2 * _wire.BATCH_MAX + 5
        self.assertEqual(publisher.publish_many(("c", str(i)) for i in range(count)),
                         list(range(1, count + 1)))
        big = ["x" * 700_000, "y" * 700_000, "z" * (_wire.DATA_MAX - 10)]
        publisher.publish_many(("c", data) for data in big)
        self.assertEqual([m[3] for m in service.messages], [str(i) for i in range(count)] + big)
        for size, request in _wire.requests([b"x" * 700_000] * 3 + [b"y"] * 3000):
            self.assertLessEqual(size, _wire.BATCH_MAX)
            self.assertLessEqual(len(request), _wire.BATCH_BYTES + 700_000)

    def test_what_is_no_text(self):
        publisher = self.publisher(self.serve())
        for kind, arguments in (
            (TypeError, ("c", {"a": 1})), (TypeError, ("c", b"x")), (TypeError, ("c", None)),
            (TypeError, (None, "x")), (TypeError, (7, "x")), (ValueError, ("c", "\ud800")),
        ):
            with self.subTest(arguments=arguments), self.assertRaises(kind):
                publisher.publish(*arguments)
        with self.assertRaisesRegex(TypeError, "json.dumps"):
            publisher.publish("c", {"a": 1})
        with self.assertRaisesRegex(m0pub.Refused, "data has 5242880 bytes, at most 4194304"):
            publisher.publish("c", "x" * (5 << 20))

    def test_refused(self):
        def refuses(conn):
            take(conn)
            answer(conn, [8, "reserved for the server", 9])
            take(conn)
            answer(conn, ["no such luck"])

        publisher = self.publisher(self.serve(refuses))
        with self.assertRaises(m0pub.Refused) as raised:
            publisher.publish_many([("a", "1"), ("\1", "2"), ("b", "3")])
        self.assertEqual(raised.exception.ids, [8, None, 9])
        self.assertEqual(raised.exception.reasons, {1: "reserved for the server"})
        self.assertIn("1 of 3, message 1: reserved", str(raised.exception))
        with self.assertRaisesRegex(m0pub.Refused, "^m0pub: refused: no such luck$"):
            publisher.publish("a", "1")

    def test_turned_away(self):
        def over(conn):
            body = b"\1user 65534 may not publish"
            conn.sendall(struct.pack(">4sI", b"m0p1", len(body)) + body)

        with self.assertRaisesRegex(m0pub.Refused, "user 65534 may not publish"):
            self.publisher(self.serve(over)).publish("c", "x")

    def test_from_many_threads(self):
        service = self.serve()
        publisher = self.publisher(service)
        results = [[] for _ in range(8)]

        def publish(mine):
            for i in range(50):
                mine.append(publisher.publish("c", str(i)))

        threads = [threading.Thread(target=publish, args=(mine,)) for mine in results]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for mine in results:
            self.assertEqual(mine, sorted(mine))
        self.assertEqual(sorted(sum(results, [])), list(range(1, 401)))
        self.assertLessEqual(len(publisher._process.idle), 4)

    def test_from_a_coroutine(self):
        service = self.serve()
        publisher = self.publisher(service)

        async def publish():
            first = await publisher.apublish("c", "1", event="e", id="i")
            rest = await publisher.apublish_many([("c", "2"), ("c", "3")])
            more = await asyncio.gather(*(publisher.apublish("c", "x") for _ in range(20)))
            return [first, *rest, *sorted(more)]

        self.assertEqual(asyncio.run(publish()), list(range(1, 24)))
        self.assertEqual(service.messages[0], ("c", "e", "i", "1"))
        self.assertEqual(asyncio.run(publisher.apublish("c", "another loop")), 24)

    def test_a_coroutine_leaves_the_loop_alone(self):
        def slow(conn):
            take(conn)
            answer(conn, [1 if asked.wait(3) else "the loop was blocked"])

        asked = threading.Event()
        publisher = self.publisher(self.serve(slow))

        async def publish():
            task = asyncio.ensure_future(publisher.apublish("c", "x"))
            await asyncio.sleep(0)
            asked.set()  # reached only when apublish does not block
            return await task

        self.assertEqual(asyncio.run(publish()), 1)

    def test_after_a_fork(self):
        service = self.serve()
        publisher = self.publisher(service)
        publisher.publish("c", "parent")
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                status = 0 if publisher.publish("c", "child") == 2 else 2
            finally:
                os._exit(status)
        _, status = os.waitpid(pid, 0)
        self.assertEqual(status, 0)
        self.assertEqual(publisher.publish("c", "parent again"), 3)
        self.assertEqual([m[3] for m in service.messages], ["parent", "child", "parent again"])
        self.assertEqual(service.connections, 2)  # the child has its own, the parent keeps its

    def test_close_is_not_the_end(self):
        service = self.serve()
        with m0pub.Publisher(service.path) as publisher:
            publisher.publish("c", "1")
            publisher.close()
            self.assertEqual(publisher.publish("c", "2"), 2)
        self.assertEqual(service.connections, 2)


class TestEnds(Case):
    def test_a_connection_that_ended_meanwhile(self):
        ended = threading.Event()

        def one(conn):
            service.once(conn)
            conn.close()
            ended.set()

        service = self.serve(one, lambda conn: service.honest(conn))
        publisher = self.publisher(service)
        publisher.publish("c", "1")
        self.assertTrue(ended.wait(PATIENCE))
        self.assertEqual(publisher.publish("c", "2"), 2)
        self.assertEqual([m[3] for m in service.messages], ["1", "2"])

    def test_a_worker_that_drains(self):
        drained = threading.Event()

        def drains(conn):
            service.once(conn)
            conn.shutdown(socket.SHUT_RD)
            drained.set()
            time.sleep(0.2)

        service = self.serve(drains, lambda conn: service.honest(conn))
        publisher = self.publisher(service)
        publisher.publish("c", "1")
        self.assertTrue(drained.wait(PATIENCE))
        self.assertEqual(publisher.publish("c", "2"), 2)

    def test_a_request_that_was_not_read(self):
        def leaves(conn):
            read(conn, 3)
            conn.close()  # with bytes unread, which the other side sees as a reset

        service = self.serve(leaves, lambda conn: service.honest(conn))
        self.assertEqual(self.publisher(service).publish("c", "x" * 1000), 1)
        self.assertEqual(len(service.messages), 1)

    def test_a_request_that_was_read_is_not_sent_again(self):
        def dies(conn):
            service.messages += take(conn)

        service = self.serve(dies, lambda conn: service.honest(conn))
        with self.assertRaisesRegex(m0pub.Unanswered, "may have been published"):
            self.publisher(service).publish("c", "x")
        self.assertEqual(len(service.messages), 1)

    def test_unanswered_knows_what_was_before(self):
        def dies(conn):
            service.once(conn)
            take(conn)

        service = self.serve(dies)
        with self.assertRaises(m0pub.Unanswered) as raised:
            self.publisher(service).publish_many([("c", "x")] * (_wire.BATCH_MAX + 1))
        self.assertEqual(raised.exception.ids, list(range(1, _wire.BATCH_MAX + 1)))

    def test_silence(self):
        hold = threading.Event()
        self.addCleanup(hold.set)
        publisher = self.publisher(self.serve(lambda conn: hold.wait(PATIENCE)), timeout=0.1)
        with self.assertRaisesRegex(m0pub.Unanswered, "no answer from .*/s in 0.1 s"):
            publisher.publish("c", "x")
        with self.assertRaisesRegex(m0pub.PublishError, "did not take the event in 0.1 s: it is not"):
            publisher.publish("c", "x" * (4 << 20))

    def test_nonsense(self):
        for bad in (b"HTTP/1.1 400 Bad Request\r\n", b"m0p1\0\0\0\2\0\7", b"m0p1\xff\xff\xff\xff"):
            def wrong(conn, bad=bad):
                take(conn)
                conn.sendall(bad)

            service = self.serve(wrong, name="bad%d" % bad[-1])
            with self.subTest(bad=bad), self.assertRaisesRegex(m0pub.Unanswered, "makes no sense"):
                self.publisher(service).publish("c", "x")

    def test_connections_that_end_at_once(self):
        def ends(conn):
            conn.close()

        service = self.serve(ends)
        with self.assertRaisesRegex(m0pub.NobodyListens, "nobody listens at /.*/s for long"):
            self.publisher(service).publish("c", "x" * 1_000_000)
        self.assertEqual(service.connections, 2)


class TestFind(Case):
    def test_by_the_directory(self):
        service = Service(self.place("a"))
        self.addCleanup(service.stop)
        self.assertEqual(m0pub.publish("c", "x"), 1)
        m0pub.close()

    def test_a_restarted_service(self):
        first = Service(self.place("127.0.0.1-8000"))
        m0pub.publish("c", "1")
        first.stop()
        with self.assertRaises(m0pub.NobodyListens) as raised:
            m0pub.publish("c", "2")
        self.assertEqual(raised.exception.path, first.path)
        self.assertIn("the service that made it is gone", str(raised.exception))
        second = Service(self.place("127.0.0.1-8001"))
        self.addCleanup(second.stop)
        self.assertEqual(m0pub.publish("c", "3"), 1)
        self.assertEqual([m[3] for m in second.messages], ["3"])
        m0pub.close()

    def test_nobody(self):
        with self.assertRaises(m0pub.NobodyListens) as raised:
            m0pub.publish("c", "x")
        self.assertEqual(raised.exception.path, _find.place(self.site))
        for part in (self.site, "(m0serve)", "M0_PUBLISH_SOCKET"):
            self.assertIn(part, str(raised.exception))

    def test_two_services(self):
        services = [Service(self.place(name)) for name in ("a", "b")]
        for s in services:
            self.addCleanup(s.stop)
        with self.assertRaises(m0pub.SeveralListen) as raised:
            m0pub.publish("c", "x")
        self.assertEqual(raised.exception.paths, [s.path for s in services])
        self.assertIn("Set M0_PUBLISH_SOCKET to one of: %s" % services[0].path, str(raised.exception))
        os.environ["M0_PUBLISH_SOCKET"] = services[1].path
        m0pub.publish("c", "x")
        self.assertEqual(([], 1), (services[0].messages, len(services[1].messages)))
        m0pub.close()

    def test_the_environment(self):
        service = self.serve(name="told")
        os.environ["M0_PUBLISH_SOCKET"] = service.path
        with m0pub.Publisher() as publisher:
            self.assertEqual(publisher.publish("c", "x"), 1)
        os.environ["M0_PUBLISH_SOCKET"] = service.path + "-gone"
        with m0pub.Publisher() as publisher:
            with self.assertRaisesRegex(m0pub.NobodyListens, "-gone, which is what M0_PUBLISH_SOCKET"):
                publisher.publish("c", "x")
        os.environ["M0_PUBLISH_SOCKET"] = "off"
        with m0pub.Publisher() as publisher:
            with self.assertRaisesRegex(m0pub.NobodyListens, "M0_PUBLISH_SOCKET is off"):
                publisher.publish("c", "x")

    def test_a_service_that_leaves(self):
        service = Service(self.place("a"))
        self.addCleanup(service.stop)
        os.rename(service.path, service.path + ".old")
        os.environ["M0_PUBLISH_SOCKET"] = service.path
        with m0pub.Publisher() as publisher:  # its own workers
            self.assertEqual(publisher.publish("c", "x"), 1)
        del os.environ["M0_PUBLISH_SOCKET"]
        with m0pub.Publisher() as publisher:  # everybody else
            with self.assertRaises(m0pub.NobodyListens):
                publisher.publish("c", "x")

    def test_a_home_that_is_not_ours(self):
        service = Service(self.place("a", mode=0o770))
        self.addCleanup(service.stop)
        with self.assertRaisesRegex(m0pub.NobodyListens, "is not this user's alone"):
            m0pub.publish("c", "x")
        self.assertEqual(service.connections, 0)

    def test_by_the_directory_of_the_script(self):
        script = os.path.join(self.site, "manage.py")
        with open(script, "w") as f:
            f.write("from m0pub import _find\n_find.HOMES = %r\nimport m0pub\n"
                    "print(m0pub.publish('c', 'x'))\n" % self.dir)
        service = Service(self.place("a"))
        self.addCleanup(service.stop)
        out = subprocess.run([sys.executable, script], cwd="/", capture_output=True, timeout=60)
        self.assertEqual((out.stdout, out.stderr), (b"1\n", b""))


class TestShell(Case):
    def run_module(self, *arguments, stdin=b""):
        return subprocess.run([sys.executable, "-W", "error", "-m", "m0pub", *arguments],
                              input=stdin, capture_output=True, timeout=60)

    def test_publishes(self):
        service = self.serve()
        os.environ["M0_PUBLISH_SOCKET"] = service.path
        self.assertEqual(self.run_module("news", "hello", "--event", "e", "--id", "7").stdout, b"1\n")
        self.assertEqual(self.run_module("news", "-", stdin=b"a\nb\n").stdout, b"2\n")
        self.assertEqual(service.messages, [("news", "e", "7", "hello"), ("news", "", "", "a\nb")])

    def test_says_why_not(self):
        out = self.run_module("news", "hello", "--socket", "/nowhere")
        self.assertEqual(out.returncode, 1)
        self.assertRegex(out.stderr, rb"^m0pub: nobody listens at /nowhere, .*\n$")
        self.assertEqual(self.run_module("news").returncode, 2)


def literal(statement):
    """Reads the payload of a statement as Postgres does: E'…' with \\\\ for a backslash."""
    prefix, suffix = "SELECT pg_notify('m0', E'", "')"
    assert statement.startswith(prefix) and statement.endswith(suffix), statement
    text, out, at = statement[len(prefix) : -len(suffix)], "", 0
    while at < len(text):
        assert text[at] != "'", "a quote ends the literal early"
        if text[at] == "\\":
            at += 1
            assert text[at] == "\\", "an escape that is no backslash"
        out += text[at]
        at += 1
    return out


class TestSQL(unittest.TestCase):
    def test_values_survive(self):
        for data in ("x", "it's", "a\\b", "100%", "%(x)s :name ? $1", '"', "\0\n\u2028", "日本語", "'); DROP"):
            with self.subTest(data=data):
                statement = m0pub.notify_sql("c'h", data, event="e")
                self.assertEqual(json.loads(literal(statement)),
                                 {"channel": "c'h", "event": "e", "data": data})
                self.assertNotIn("%", statement)
                self.assertNotRegex(statement, r":\w|\?")
        self.assertEqual(json.loads(literal(m0pub.notify_sql("c", ""))), {"channel": "c", "data": ""})

    def test_bounds(self):
        room = 7999 - len('{"channel":"c","data":""}')
        m0pub.notify_sql("c", "x" * room)
        with self.assertRaisesRegex(ValueError, "8000 bytes, at most 7999"):
            m0pub.notify_sql("c", "x" * (room + 1))
        with self.assertRaises(ValueError):
            m0pub.notify_sql("c", "ä" * (room // 2 + 1))
        with self.assertRaises(TypeError):
            m0pub.notify_sql("c", {"a": 1})


class InsideAWorker(unittest.TestCase):
    """m0pub where the engine is: sys.modules has it, as in a worker."""

    def setUp(self):
        self.calls = []
        self.engine = mock.Mock(spec=["publish", "worker"])
        self.engine.publish.side_effect = self.take
        self.engine.worker = (os.getpid(), "/nobody/there.sock")
        for patch in (
            mock.patch.dict(sys.modules, {"m0serve._native": self.engine}),
            mock.patch.dict(os.environ, {_find.ENV: "/nobody/there.sock"}),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    def take(self, channel, data, event, id):
        if channel.startswith("\x01"):
            raise ValueError("reserved")
        if channel == "full":
            raise RuntimeError("dropped")
        self.calls.append((channel, data, event, id))
        return len(self.calls)

    def test_publishes_without_a_socket(self):
        self.assertEqual(m0pub.publish("a", "1"), 1)
        self.assertEqual(m0pub.publish("b", "2", event="e", id=7), 2)
        many = [("a", str(i)) for i in range(2000)]
        self.assertEqual(m0pub.publish_many(many), list(range(3, 2003)))
        self.assertEqual(self.calls[:2], [("a", "1", "", ""), ("b", "2", "e", "7")])
        self.assertEqual(self.calls[2:], [("a", str(i), "", "") for i in range(2000)])

    def test_says_what_is_refused(self):
        for channel, reason in (("\x01a", "reserved"), ("full", "dropped")):
            with self.assertRaises(m0pub.Refused) as caught:
                m0pub.publish_many([("a", "1"), (channel, "2"), ("a", "3")])
            self.assertEqual(caught.exception.reasons, {1: reason})
        with self.assertRaises(TypeError):
            m0pub.publish("a", b"bytes")
        with self.assertRaises(m0pub.Refused):
            m0pub.publish("a", "x" * (_wire.DATA_MAX + 1))

    def test_another_process_or_service_has_the_socket(self):
        self.engine.worker = (os.getppid(), "/nobody/there.sock")
        with self.assertRaises(m0pub.NobodyListens):
            m0pub.publish("a", "1")
        self.engine.worker = (os.getpid(), "/some/other.sock")
        with self.assertRaises(m0pub.NobodyListens):
            m0pub.publish("a", "1")
        self.engine.worker = (os.getpid(), "/nobody/there.sock")
        with self.assertRaises(m0pub.NobodyListens):
            m0pub.Publisher("/nobody/there.sock").publish("a", "1")
        self.assertEqual(self.calls, [])


if __name__ == "__main__":
    signal.alarm(120)
    unittest.main()

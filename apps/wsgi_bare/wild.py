# SPDX-License-Identifier: MIT
"""What no application should do: `/wild` behaves by the seed of its query, every other path
is one misuse. /ok is the good request that is to be answered behind all of it.
"""

import gc
import io
import os
import random
import sys
import tempfile
import threading
import time

RUNNING = set()  # one for each call
KEPT = []  # what earlier requests left: start_response, write, wsgi.input
NAMES = ("X-A", "x-b", "Content-Length", "Content-Type", "Connection", "Transfer-Encoding",
         "Set-Cookie", "Bad Name", "", "X-\u00e9", "Date", b"X-Bytes", None, 7)
VALUES = ("1", "", "a" * 5000, "close", "chunked", "two\r\nlines", "\u20ac", "\u00e9", "\x00",
          b"bytes", None, 12, "99999999999999999999", "-1", "0")
STATUSES = ("200 OK", "204 No Content", "304 Not Modified", "404 N\u00f6", "500 ", "200",
            "100 Continue", "999 High", "20 OK", "abc", "", "200 \u20ac", "2000 OK", None, 200,
            b"200 OK", "200 OK\r\nX: y")
RAISED = (RuntimeError, SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, OSError,
          MemoryError, RecursionError, UnicodeError)
FILE = tempfile.NamedTemporaryFile()
FILE.write(b"f" * 200000)
FILE.flush()


class Wild:
    """One request of /wild."""

    def __init__(self, environ, start_response):
        self.rng = random.Random(environ["QUERY_STRING"])
        self.environ = environ
        self.start_response = start_response
        self.write = None

    def start(self):
        pick = self.rng.choice
        headers = [(pick(NAMES), pick(VALUES)) for _ in range(self.rng.randrange(4))]
        if self.rng.random() < 0.7:
            headers = [("X-Good", "yes")]
        headers = pick((headers, headers, headers, headers, tuple(headers), None, [None], [()]))
        args = [pick(STATUSES) if self.rng.random() < 0.3 else "200 OK", headers]
        if self.rng.random() < 0.2:
            args.append(pick((sys.exc_info(), None, 1, (1, 2, 3), (None, None, None))))
        self.write = self.start_response(*args)

    def piece(self):
        return self.rng.choice((b"", b"piece", b"x" * 70000, b"y" * 300000, "text", None, 1,
                                bytearray(b"ba"), memoryview(b"mv")))

    def put(self):
        if self.write:
            self.write(self.piece())

    def read(self):
        self.environ["wsgi.input"].read(self.rng.choice((0, 1, 100, 100000, -1)))

    def keep(self):
        KEPT.append(self.rng.choice((self.start_response, self.write, self.environ)))
        del KEPT[:-20]

    def use_kept(self):
        if not KEPT:
            return
        old = self.rng.choice(KEPT)
        if isinstance(old, dict):
            old["wsgi.input"].read(10)
        elif old is not None and old is not self.write and old is not self.start_response:
            try:
                old(b"late")
            except (RuntimeError, TypeError):
                old("200 OK", [])

    def thread(self):
        do = self.rng.choice((self.start, self.put, self.read, self.use_kept))

        def work():
            for _ in range(3):
                try:
                    do()
                except BaseException:
                    pass

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        if self.rng.random() < 0.5:
            thread.join(1)

    def fail(self):
        raise self.rng.choice(RAISED)("wild")

    def pause(self):
        time.sleep(self.rng.random() / 200)

    def forked(self):
        if self.rng.random() < 0.1 and os.fork() == 0 and self.rng.random() < 0.5:
            sys.exit(0)

    def act(self):
        actions = (self.start, self.start, self.start, self.put, self.read, self.keep,
                   self.use_kept, self.thread, self.pause, gc.collect, self.fail, self.forked)
        for _ in range(self.rng.randrange(5)):
            self.rng.choice(actions)()

    def pieces(self):
        for _ in range(self.rng.randrange(6)):
            if self.rng.random() < 0.3:
                self.act()
            yield self.piece()

    def result(self):
        wrapper = self.environ["wsgi.file_wrapper"]
        closed = io.BytesIO(b"closed")
        closed.close()
        return self.rng.choice((
            [b"whole"], (b"whole",), [b"x" * 100000], [b"z" * 5000000], [b"a", b"b"], [], None, 5,
            "text", ["text"], self.pieces(), self.pieces(), Closes(self), Closes(self),
            wrapper(open(FILE.name, "rb")), wrapper(closed), wrapper(io.BytesIO(b"m" * 100)),
            wrapper(open(FILE.name)), wrapper(self), {b"k": 1}, iter([b"i", 3]), b"bytes",
        ))


class Closes:
    """An iterable whose close() fails, now and then."""

    def __init__(self, wild):
        self.wild = wild

    def __iter__(self):
        return self.wild.pieces()

    def close(self):
        self.wild.act()


def wild(environ, start_response):
    it = Wild(environ, start_response)
    it.start()
    it.act()
    return it.result()


def writers(environ, start_response):
    """Threads write at once, and are left behind."""
    write = start_response("200 OK", [])

    def work():
        try:
            for _ in range(50):
                write(b"w" * 100000)
        except (RuntimeError, OSError):
            pass

    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.005)
    return []


def reader(environ, start_response):
    """A thread that waits for the body is left behind."""
    threading.Thread(target=read_all, args=(environ["wsgi.input"],), daemon=True).start()
    time.sleep(0.05)
    start_response("200 OK", [("Content-Length", "4")])
    return [b"left"]


READ = []  # how the threads of /reader ended


def read_all(body):
    try:
        READ.append(len(body.read()))
    except BaseException as error:
        READ.append(type(error).__name__)


def fork_returns(environ, start_response):
    """Both processes come back from here; /fork/raises and /fork/yields likewise."""
    children = environ["PATH_INFO"]
    pid = os.fork()
    if pid == 0 and children == "/fork/raises":
        raise SystemExit(7)
    if pid == 0 and children == "/fork/fails":
        raise RuntimeError("in the child")
    status = os.waitpid(pid, 0)[1] if pid else 0
    start_response("200 OK", []) if pid else None
    return [b"status %d" % os.WEXITSTATUS(status)]


def fork_yields(environ, start_response):
    start_response("200 OK", [])
    yield b"begun,"
    pid = os.fork()
    yield b"status %d" % (os.WEXITSTATUS(os.waitpid(pid, 0)[1]) if pid else 0)


def natives(environ, start_response):
    """Calls what is the engine's: each must be refused."""
    native = sys.modules["m0serve._native"]
    got = []
    for name, *args in (
        ("turn",), ("attach",), ("want", 0), ("finish", 0), ("abort", 1 << 70), ("write", 0, b"", 1),
        ("respond", 0, 200, (), b"", 0), ("ws_send", 0, "a"), ("ws_close", 0, 1000, ""),
        ("start", "wsgi", 1, 2, 3, 4, 5), ("start",), ("read", 1, 2), ("log", 1, 2), ("source", 5),
    ):
        try:
            getattr(native, name)(*args)
            got.append(name)
        except (RuntimeError, TypeError, ValueError, OverflowError):
            pass
    start_response("200 OK", [])
    return [("allowed: " + ",".join(got)).encode()]


def exc_info(environ, start_response):
    """Behind the head, exc_info that is none is refused."""
    write = start_response("200 OK", [])
    write(b"head")
    for wrong in ((1, 2, 3), (None, None, None), (ValueError, ValueError(), 5), (), 7):
        try:
            start_response("200 OK", [], wrong)
            return [b", taken: " + repr(wrong).encode()]
        except TypeError:
            pass
    return [b", refused"]


class Restarts:
    """Its close() begins an answer that is not valid."""

    def __init__(self, start_response):
        self.start_response = start_response

    def __iter__(self):
        return iter(())

    def close(self):
        try:
            raise KeyError
        except KeyError:
            self.start_response("nothing", [], sys.exc_info())


def restarts(environ, start_response):
    start_response("200 OK", [])
    return Restarts(start_response)


def long_head(environ, start_response):
    start_response("200 OK", [("X-Long", "a" * (17 << 20))])
    return [b""]


def memory(environ, start_response):
    """Blocks that Python has allocated, resident KiB, and other calls that still run."""
    gc.collect()
    with open("/proc/self/statm") as f:
        resident = int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    start_response("200 OK", [])
    return [b"%d %d %d" % (sys.getallocatedblocks(), resident, len(RUNNING) - 1)]


# What is asked many times over while the memory is watched.


def fails(environ, start_response):
    raise RuntimeError("ahead of the head")


def fails_late(environ, start_response):
    start_response("200 OK", [])
    yield b"x" * 100
    raise RuntimeError("behind the head")


def wrong(environ, start_response):
    for args in ((5, []), ("200 OK", {}), ("200 OK", [5]), ("200 OK", [("a b", "c")]),
                 ("200 OK", [("a", "\u20ac")]), ("200 OK", [("Content-Length", "x")])):
        try:
            start_response(*args)
        except (TypeError, ValueError):
            pass
    try:
        raise KeyError("first")
    except KeyError:
        start_response("500 Failed", [("X-A", "b")], sys.exc_info())
    return [b"recovered"]


def pieces(environ, start_response):
    write = start_response("200 OK", [("X-A", "\u00e9")])
    write(b"a")
    return (b"b" for _ in range(5))


def body(environ, start_response):
    data = environ["wsgi.input"].read()
    start_response("200 OK", [("Content-Length", str(len(data)))])
    return [data]


def file(environ, start_response):
    start_response("200 OK", [])
    return environ["wsgi.file_wrapper"](open(FILE.name, "rb"))


def ok(environ, start_response):
    start_response("200 OK", [("Content-Length", "2")])
    return (b"ok",)


ROUTES = {
    "/wild": wild, "/writers": writers, "/reader": reader, "/fork/returns": fork_returns,
    "/fork/raises": fork_returns, "/fork/fails": fork_returns, "/fork/yields": fork_yields,
    "/native": natives, "/exc-info": exc_info,
    "/restarts": restarts, "/long": long_head, "/memory": memory, "/fails": fails,
    "/late": fails_late, "/wrong": wrong, "/pieces": pieces, "/body": body, "/file": file,
    "/ok": ok,
}


def app(environ, start_response):
    if environ["PATH_INFO"] == "/read":
        start_response("200 OK", [])
        return [repr(READ).encode()]
    call = object()
    RUNNING.add(call)
    try:
        return ROUTES[environ["PATH_INFO"]](environ, start_response)
    finally:
        RUNNING.discard(call)

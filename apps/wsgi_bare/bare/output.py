# SPDX-License-Identifier: MIT
"""The answer: statuses, fields, the shapes of bodies, lengths that are wrong, write()."""

import threading
import time

from bare.kit import Body, note, reply, text

PLAIN = [("Content-Type", "text/plain")]


def status(environ, start_response, q):
    content = q("body", "status").encode("latin-1")
    fields = [("Content-Type", "text/plain")]
    if q("bare"):  # 204 and 304 must not have one
        fields = []
    if q("length", "yes") != "no":
        fields.append(("Content-Length", q("say", str(len(content)))))
    start_response(q("s"), fields)
    return [content] if content else []


def fields(environ, start_response, q):
    """Answer with the fields of the query, h=Name:value each."""
    given = [tuple(h.split(":", 1)) for h in q.all("h")]
    if q("long"):
        given.append(("X-Long", "a" * q.number("long")))
    return reply(start_response, b"fields", fields=given)


def sized(environ, start_response, q):
    return reply(start_response, pattern(q.number("n")), "application/octet-stream")


def pattern(size):
    """Bytes of which every stretch tells where it is."""
    line = b"".join(b"%07d\n" % i for i in range(0, 1 << 17, 8))
    return (line * (size // len(line) + 1))[:size]


class Sequence:
    """An iterable by __getitem__ alone, the oldest protocol there is."""

    def __getitem__(self, index):
        return [b"one ", b"two ", b"three"][index]


class Iterable:
    def __iter__(self):
        return iter([b"one ", b"two ", b"three"])


class Bytes(bytes):
    pass


class String(str):
    pass


SHAPES = {
    "list": lambda: [b"one ", b"two ", b"three"],
    "tuple": lambda: (b"one ", b"two ", b"three"),
    "generator": lambda: (piece for piece in (b"one ", b"two ", b"three")),
    "iterator": lambda: iter([b"one ", b"two ", b"three"]),
    "map": lambda: map(bytes.lower, [b"ONE ", b"TWO ", b"THREE"]),
    "iterable": Iterable,
    "sequence": Sequence,
    "set": lambda: {b"one two three"},
    "one": lambda: [b"one two three"],
    "empty-pieces": lambda: [b"", b"one ", b"", b"two ", b"three", b""],
    "empty-list": lambda: [],
    "empty-tuple": lambda: (),
    "empty-generator": lambda: (piece for piece in ()),
    "only-empty": lambda: [b"", b""],
    "subclass": lambda: [Bytes(b"one two three")],
    "none": lambda: None,
    "number": lambda: 7,
    "string": lambda: "one two three",
    "bytes": lambda: b"one two three",
    "strings": lambda: ["one ", "two"],
    "string-second": lambda: [b"one ", "two"],
    "none-second": lambda: (piece for piece in (b"one ", None)),
    "bytearray": lambda: [bytearray(b"one two three")],
    "numbers": lambda: [1, 2],
}


def shape(environ, start_response, q):
    given = list(PLAIN)
    if q("say"):
        given.append(("Content-Length", q("say")))
    start_response("200 OK", given)
    return SHAPES[q("kind")]()


def length(environ, start_response, q):
    """Say one length and have another, in one piece or in several."""
    content = pattern(q.number("have"))
    start_response("200 OK", PLAIN + [("Content-Length", q("say"))])
    size = q.number("by", len(content) or 1)
    parts = [content[i:i + size] for i in range(0, len(content), size)]
    return Body(q("id"), parts) if q("id") else parts


def stream(environ, start_response, q):
    """Yield n pieces of a size, ms apart, and note what happens to the iterable."""
    given = list(PLAIN)
    if q("say"):
        given.append(("Content-Length", q("say")))
    start_response("200 OK", given)

    def produce():
        for i in range(q.number("n", 3)):
            if i and q("ms"):
                time.sleep(q.number("ms") / 1000)
            yield (b"%d," % i) * max(1, q.number("size", 2) // 2)

    return Body(q("id"), produce())


_gates = {}
_gates_lock = threading.Lock()


def gate_of(key):
    with _gates_lock:
        return _gates.setdefault(key, threading.Semaphore(0))


def gated(environ, start_response, q):
    """Yield a piece, and each next one when /gate/open lets it through."""
    start_response("200 OK", PLAIN)

    def produce():
        yield b"first,"
        for i in range(q.number("n", 1)):
            if not gate_of(q("id")).acquire(timeout=10):
                raise TimeoutError("nobody opened the gate")
            yield b"piece %d," % i

    return Body(q("id"), produce())


def gate_open(environ, start_response, q):
    gate_of(q("id")).release()
    return text(start_response, "open")


def write(environ, start_response, q):
    """Write the parts of the query with write(), then return the rest."""
    given = list(PLAIN)
    if q("say"):
        given.append(("Content-Length", q("say")))
    send = start_response("200 OK", given)
    for part in q.all("w"):
        send(part.encode("latin-1"))
    rest = [part.encode("latin-1") for part in q.all("r")]
    return Body(q("id"), rest) if q("id") else rest


def write_gated(environ, start_response, q):
    """Write, and wait inside of the call until the client said that it came."""
    send = start_response("200 OK", PLAIN)
    send(b"written,")
    if not gate_of(q("id")).acquire(timeout=10):
        raise TimeoutError("nobody opened the gate")
    return [b"returned"]


def write_wrong(environ, start_response, q):
    send = start_response("200 OK", PLAIN)
    try:
        send("text")
    except Exception as err:
        note(q("id"), type(err).__name__)
        raise
    return []


def write_late(environ, start_response, q):
    """Call write() while the iterable is being read."""
    send = start_response("200 OK", PLAIN)

    def produce():
        yield b"a"
        send(b"b")
        yield b"c"

    return produce()


def write_fails(environ, start_response, q):
    send = start_response("200 OK", PLAIN)
    send(b"some")
    raise RuntimeError("BARE failure behind write()")


def chatty(environ, start_response, q):
    """Yield many small pieces; the server may send them together."""
    start_response("200 OK", PLAIN)
    return (b"%04d" % i for i in range(q.number("n", 1000)))


def endless(environ, start_response, q):
    """Yield without end, noting how far the server drew."""
    start_response("200 OK", PLAIN)

    def produce():
        piece = pattern(64 * 1024)
        while True:
            yield piece

    return Body(q("id"), produce())


ROUTES = {
    "/status": status,
    "/fields": fields,
    "/sized": sized,
    "/shape": shape,
    "/length": length,
    "/stream": stream,
    "/gated": gated,
    "/gate/open": gate_open,
    "/write": write,
    "/write/gated": write_gated,
    "/write/wrong": write_wrong,
    "/write/late": write_late,
    "/write/fails": write_fails,
    "/chatty": chatty,
    "/endless": endless,
}

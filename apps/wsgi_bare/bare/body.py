# SPDX-License-Identifier: MIT
"""The body of the request: wsgi.input in every way that PEP 3333 allows to read it."""

import hashlib
import threading

from bare.kit import as_json, note, text

PIECE = 64 * 1024


def do(source, operation):
    """Do one operation, written as its name and a size: read:5, readline, iter."""
    name, _, size = operation.partition(":")
    args = (int(size),) if size else ()
    if name == "iter":
        return [line.decode("latin-1") for line in source]
    if name == "next":
        return next(iter(source), b"<end>").decode("latin-1")
    result = getattr(source, name)(*args)
    if name == "readlines":
        return [line.decode("latin-1") for line in result]
    return result.decode("latin-1")


def operations(environ, start_response, q):
    """Do the operations of the query and show what each gave."""
    source = environ["wsgi.input"]
    return as_json(start_response, [do(source, op) for op in q("ops").split(",") if op])


def types(environ, start_response, q):
    source = environ["wsgi.input"]
    found = [type(source.read(1)).__name__, type(source.readline()).__name__]
    found.append(type(source.readlines()).__name__)
    return as_json(start_response, found)


def pieces(environ):
    source = environ["wsgi.input"]
    while True:
        piece = source.read(PIECE)
        if not piece:
            return
        yield piece


def digest(environ, start_response, q):
    size, sha = 0, hashlib.sha256()
    for piece in pieces(environ):
        size += len(piece)
        sha.update(piece)
    return as_json(start_response, {"size": size, "sha256": sha.hexdigest()})


def echo(environ, start_response, q):
    """Read all of it, then send it back with its length."""
    content = b"".join(pieces(environ))
    start_response("200 OK", [
        ("Content-Type", "application/octet-stream"), ("Content-Length", str(len(content)))])
    return [content]


def echo_pieces(environ, start_response, q):
    """Send each piece back as it was read; the head goes out before the body is in."""
    start_response("200 OK", [("Content-Type", "application/octet-stream")])
    return pieces(environ)


def echo_lines(environ, start_response, q):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return (b"<" + line.rstrip(b"\n") + b">" for line in environ["wsgi.input"])


def ignore(environ, start_response, q):
    return text(start_response, "ignored")


def first(environ, start_response, q):
    """Read a little and leave the rest."""
    return text(start_response, environ["wsgi.input"].read(q.number("n", 3)).decode("latin-1"))


def refuse(environ, start_response, q):
    return text(start_response, "too large", status="413 Content Too Large")


def record(environ, start_response, q):
    """Note whether the body came whole. What was cut must end in an error."""
    size = 0
    note(q("id"), "called")
    try:
        for piece in pieces(environ):
            size += len(piece)
    except Exception as err:
        note(q("id"), "error")
        note(q("id") + "/type", type(err).__name__)
        raise
    note(q("id"), "complete %d" % size)
    return text(start_response, "complete %d" % size)


def elsewhere(environ, start_response, q):
    """Read on another thread, as frameworks with a pool of their own do."""
    got = []
    reader = threading.Thread(target=lambda: got.extend(pieces(environ)))
    reader.start()
    reader.join()
    return text(start_response, "%d" % len(b"".join(got)))


_kept = []


def keep(environ, start_response, q):
    """Keep the stream; reading it after the answer must not take the worker down."""
    _kept.append(environ["wsgi.input"])
    return text(start_response, "kept")


def read_kept(environ, start_response, q):
    try:
        got = _kept.pop().read(10)
    except Exception as err:
        return text(start_response, "error " + type(err).__name__)
    return text(start_response, "%d bytes" % len(got))


ROUTES = {
    "/body": operations,
    "/body/types": types,
    "/body/digest": digest,
    "/body/echo": echo,
    "/body/echo/pieces": echo_pieces,
    "/body/echo/lines": echo_lines,
    "/body/ignore": ignore,
    "/body/first": first,
    "/body/refuse": refuse,
    "/body/record": record,
    "/body/elsewhere": elsewhere,
    "/body/keep": keep,
    "/body/kept": read_kept,
}

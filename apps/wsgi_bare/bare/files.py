# SPDX-License-Identifier: MIT
"""wsgi.file_wrapper: files from where they stand, things that only have read()."""

import io
import os
import tempfile

from bare.kit import note, text
from bare.output import pattern

KIND = [("Content-Type", "application/octet-stream")]
SIZE = 300_000
_path = None


def path():
    """The file, made when it is first asked for and gone with the process."""
    global _path
    if _path is None:
        with tempfile.NamedTemporaryFile("wb", suffix=".bare", delete=False) as f:
            f.write(pattern(SIZE))
        _path = f.name
    return _path


class Noted:
    """A thing with read() and close() alone, which notes both."""

    def __init__(self, key, content):
        self.key = key
        self.source = io.BytesIO(content)

    def read(self, size=-1):
        note(self.key, "read")
        return self.source.read(size)

    def close(self):
        note(self.key, "close")


class NotedFile(io.FileIO):
    """A real file that notes when it is closed."""

    key = ""

    def close(self):
        if not self.closed and self.key:
            note(self.key, "close")
        super().close()


def opened(q):
    """Open what the query asks for and put it where it should stand."""
    kind, key = q("kind", "file"), q("id")
    if kind == "bytes":
        source = io.BytesIO(pattern(SIZE))
    elif kind == "read":
        return Noted(key, pattern(q.number("size", SIZE)))
    elif kind == "raw":
        source = NotedFile(path())
        source.key = key
    elif kind == "temporary":
        source = tempfile.TemporaryFile()
        source.write(pattern(SIZE))
        source.seek(0)
    elif kind == "long":
        source = tempfile.TemporaryFile()
        source.truncate(q.number("size"))
    elif kind == "pipe":
        reading, writing = os.pipe()
        os.write(writing, b"through a pipe")
        os.close(writing)
        return os.fdopen(reading, "rb")
    else:
        source = open(path(), "rb")
    source.seek(q.number("offset"))
    if q("peek"):
        source.read(q.number("peek"))  # through its buffer
    return source


def wrapped(environ, start_response, q):
    source = opened(q)
    fields = list(KIND)
    if q("say"):
        fields.append(("Content-Length", q("say")))
    start_response(q("s", "200 OK"), fields)
    wrapper = environ["wsgi.file_wrapper"]
    if q("block"):
        return wrapper(source, q.number("block"))
    return wrapper(source)


def iterated(environ, start_response, q):
    """Read the wrapper ourselves, as a middleware does."""
    wrapper = environ["wsgi.file_wrapper"](opened(q), 100_000)
    sizes = [len(piece) for piece in wrapper]
    if hasattr(wrapper, "close"):
        wrapper.close()
    return text(start_response, repr(sizes))


def inside(environ, start_response, q):
    """Hand the pieces of a wrapper on from a generator."""
    start_response("200 OK", KIND)
    return (piece for piece in environ["wsgi.file_wrapper"](opened(q), 7_000))


def unused(environ, start_response, q):
    """Make a wrapper and answer with something else."""
    environ["wsgi.file_wrapper"](opened(q)).close()
    return text(start_response, "unused")


ROUTES = {
    "/file": wrapped,
    "/file/iterated": iterated,
    "/file/inside": inside,
    "/file/unused": unused,
}

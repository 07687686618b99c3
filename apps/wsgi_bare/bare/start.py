# SPDX-License-Identifier: MIT
"""start_response: when it may be called, how often, and with what."""

import sys

from bare.kit import Body, note, text

PLAIN = [("Content-Type", "text/plain")]


def never(environ, start_response, q):
    return [b"no head"]


def never_empty(environ, start_response, q):
    return []


def lazy(environ, start_response, q):
    """Be a generator: nothing runs before the server asks for the first piece."""
    start_response("202 Lazy", PLAIN + [("X-Lazy", "yes")])
    yield b"lazy "
    yield b"pieces"


def lazy_sized(environ, start_response, q):
    start_response("202 Lazy", PLAIN + [("Content-Length", "4")])
    yield b"lazy"


def lazy_empty(environ, start_response, q):
    start_response("202 Lazy", PLAIN + [("Content-Length", "0")])
    return
    yield b""


def lazy_never(environ, start_response, q):
    yield b"no head"


def lazy_fails(environ, start_response, q):
    raise RuntimeError("BARE lazy failure")
    yield b""


def twice(environ, start_response, q):
    start_response("200 First", PLAIN)
    start_response("201 Second", PLAIN)
    return [b"twice"]


def twice_caught(environ, start_response, q):
    """Go on with the first head when the second is refused."""
    start_response("200 First", PLAIN)
    try:
        start_response("201 Second", PLAIN)
    except Exception:
        return [b"refused"]
    return [b"taken"]


def twice_none(environ, start_response, q):
    start_response("200 First", PLAIN)
    start_response("201 Second", PLAIN, None)
    return [b"twice"]


def replaced(environ, start_response, q):
    """Replace the head before anything of it was sent."""
    start_response("200 OK", PLAIN + [("X-First", "yes"), ("Content-Length", "999")])
    try:
        raise ValueError("BARE replaced")
    except ValueError:
        start_response("503 Replaced", PLAIN + [("X-Second", "yes")], sys.exc_info())
    return [b"replaced"]


def replaced_first(environ, start_response, q):
    """Give exc_info with the first call."""
    try:
        raise ValueError("BARE first call")
    except ValueError:
        start_response("503 Replaced", PLAIN, sys.exc_info())
    return [b"replaced"]


def replaced_lazily(environ, start_response, q):
    """Replace the head while the iterable is read, before its first piece."""
    start_response("200 OK", PLAIN)

    def produce():
        try:
            raise ValueError("BARE replaced lazily")
        except ValueError:
            start_response("503 Replaced", PLAIN, sys.exc_info())
        yield b"replaced"

    return produce()


def replaced_empty(environ, start_response, q):
    """Replace the head behind an empty piece, which must not have sent it."""
    start_response("200 OK", PLAIN)

    def produce():
        yield b""
        try:
            raise ValueError("BARE replaced behind nothing")
        except ValueError:
            start_response("503 Replaced", PLAIN, sys.exc_info())
        yield b"replaced"

    return produce()


def too_late(environ, start_response, q):
    """Try to replace a head that was sent: the exception must come back."""
    start_response("200 OK", PLAIN)

    def produce():
        yield b"sent"
        try:
            raise ValueError("BARE too late")
        except ValueError:
            try:
                start_response("503 Replaced", PLAIN, sys.exc_info())
            except ValueError as err:
                note(q("id"), "raised %s" % err)
                raise
            note(q("id"), "nothing raised")

    return Body(q("id"), produce())


def too_late_write(environ, start_response, q):
    send = start_response("200 OK", PLAIN)
    send(b"sent")
    try:
        raise ValueError("BARE too late")
    except ValueError:
        try:
            start_response("503 Replaced", PLAIN, sys.exc_info())
        except ValueError as err:
            note(q("id"), "raised %s" % err)
            raise
    note(q("id"), "nothing raised")
    return []


def returns(environ, start_response, q):
    """Say what start_response returned."""
    send = start_response("200 OK", PLAIN)
    return [b"callable" if callable(send) else b"not callable"]


def keywords(environ, start_response, q):
    """PEP 3333 names the arguments, but asks for calls by position; exc_info by name
    is what applications write all the same."""
    start_response("200 OK", PLAIN, exc_info=None)
    return [b"keywords"]


def changed(environ, start_response, q):
    """Change the list of fields after the call, which the server owns by then."""
    fields = PLAIN + [("X-Was", "here")]
    start_response("200 OK", fields)
    return Late(fields)


class Late:
    def __init__(self, fields):
        self.fields = fields

    def __iter__(self):
        self.fields.append(("X-Injected", "late"))
        return iter([b"changed"])


class Str(str):
    pass


BAD = {
    "status-number": lambda: (200, PLAIN),
    "status-bytes": lambda: (b"200 OK", PLAIN),
    "status-empty": lambda: ("", PLAIN),
    "status-short": lambda: ("20 OK", PLAIN),
    "status-words": lambda: ("OK fine", PLAIN),
    "status-none": lambda: (None, PLAIN),
    "status-line": lambda: ("200 OK\r\nX-Evil: 1", PLAIN),
    "status-control": lambda: ("200 O\x01K", PLAIN),
    "status-unicode": lambda: ("200 \u20ac", PLAIN),
    "status-1xx": lambda: ("100 Continue", PLAIN),
    "fields-none": lambda: ("200 OK", None),
    "fields-string": lambda: ("200 OK", "Content-Type: text/plain"),
    "field-string": lambda: ("200 OK", PLAIN + ["X-A: b"]),
    "field-three": lambda: ("200 OK", PLAIN + [("X-A", "b", "c")]),
    "name-bytes": lambda: ("200 OK", PLAIN + [(b"X-A", "b")]),
    "name-empty": lambda: ("200 OK", PLAIN + [("", "b")]),
    "name-space": lambda: ("200 OK", PLAIN + [("X A", "b")]),
    "name-colon": lambda: ("200 OK", PLAIN + [("X:A", "b")]),
    "name-line": lambda: ("200 OK", PLAIN + [("X-A\r\nX-Evil", "b")]),
    "name-unicode": lambda: ("200 OK", PLAIN + [("X-\u20ac", "b")]),
    "name-latin": lambda: ("200 OK", PLAIN + [("X-\xe9", "b")]),
    "value-bytes": lambda: ("200 OK", PLAIN + [("X-A", b"b")]),
    "value-number": lambda: ("200 OK", PLAIN + [("X-A", 7)]),
    "value-none": lambda: ("200 OK", PLAIN + [("X-A", None)]),
    "value-line": lambda: ("200 OK", PLAIN + [("X-A", "b\r\nX-Evil: 1")]),
    "value-lf": lambda: ("200 OK", PLAIN + [("X-A", "b\nX-Evil: 1")]),
    "value-cr": lambda: ("200 OK", PLAIN + [("X-A", "b\rX-Evil: 1")]),
    "value-nul": lambda: ("200 OK", PLAIN + [("X-A", "b\0c")]),
    "value-unicode": lambda: ("200 OK", PLAIN + [("X-A", "\u20ac")]),
    "length-words": lambda: ("200 OK", PLAIN + [("Content-Length", "many")]),
    "length-negative": lambda: ("200 OK", PLAIN + [("Content-Length", "-1")]),
    "length-twice": lambda: (
        "200 OK", PLAIN + [("Content-Length", "3"), ("Content-Length", "4")]),
}


def bad(environ, start_response, q):
    start_response(*BAD[q("kind")]())
    return [b"bad"]


def bad_caught(environ, start_response, q):
    """Answer properly after the server refused what was wrong."""
    try:
        start_response(*BAD[q("kind")]())
    except Exception:
        return text(start_response, "refused at the call")
    return [b"bad"]


ROUTES = {
    "/start/never": never,
    "/start/never/empty": never_empty,
    "/start/lazy": lazy,
    "/start/lazy/sized": lazy_sized,
    "/start/lazy/empty": lazy_empty,
    "/start/lazy/never": lazy_never,
    "/start/lazy/fails": lazy_fails,
    "/start/twice": twice,
    "/start/twice/caught": twice_caught,
    "/start/twice/none": twice_none,
    "/start/replaced": replaced,
    "/start/replaced/first": replaced_first,
    "/start/replaced/lazily": replaced_lazily,
    "/start/replaced/empty": replaced_empty,
    "/start/late": too_late,
    "/start/late/write": too_late_write,
    "/start/returns": returns,
    "/start/keywords": keywords,
    "/start/changed": changed,
    "/start/bad": bad,
    "/start/bad/caught": bad_caught,
}

# SPDX-License-Identifier: MIT
"""Failures at every stage, by ordinary exceptions and by those that end programs."""

from bare.kit import note

PLAIN = [("Content-Type", "text/plain")]

KINDS = {
    "error": lambda: ValueError("BARE failure"),
    "exit": lambda: SystemExit(3),
    "exit-text": lambda: SystemExit("BARE exit"),
    "interrupt": lambda: KeyboardInterrupt(),
    "memory": lambda: MemoryError("BARE memory"),
    "generator-exit": lambda: GeneratorExit(),
    "stop": lambda: StopIteration(),
    "base": lambda: BaseException("BARE base"),
    "recursion": lambda: RecursionError("BARE recursion"),
    "unprintable": lambda: Unprintable(),
}


class Unprintable(Exception):
    """An exception that fails when it is printed."""

    def __str__(self):
        raise RuntimeError("BARE str")

    __repr__ = __str__


def fail(q):
    raise KINDS[q("kind", "error")]()


class Failing:
    """An iterable that fails at one of its stages and notes its close()."""

    def __init__(self, q, at):
        self.q = q
        self.at = at
        self.left = [b"one ", b"two "]

    def __iter__(self):
        if self.at == "iter":
            fail(self.q)
        return self

    def __next__(self):
        if self.at == "first" or self.at == "middle" and len(self.left) == 1:
            fail(self.q)
        if not self.left:
            if self.at == "end":
                fail(self.q)
            raise StopIteration
        return self.left.pop(0)

    def close(self):
        note(self.q("id"), "close")
        if self.at == "close":
            fail(self.q)


def failing(environ, start_response, q):
    """Fail at `at`: call, started, iter, first, middle, end, close or none."""
    at = q("at", "call")
    if at == "call":
        fail(q)
    fields = list(PLAIN)
    if q("say"):
        fields.append(("Content-Length", q("say")))
    start_response("200 OK", fields)
    if at == "started":
        fail(q)
    return Failing(q, at)


def recursion(environ, start_response, q):
    """Recurse until Python stops it."""
    def deeper(n):
        return deeper(n + 1) + 1
    return [b"%d" % deeper(0)]


def chained(environ, start_response, q):
    try:
        raise ValueError("BARE cause")
    except ValueError as err:
        raise RuntimeError("BARE effect") from err


ROUTES = {
    "/fail": failing,
    "/fail/recursion": recursion,
    "/fail/chained": chained,
}

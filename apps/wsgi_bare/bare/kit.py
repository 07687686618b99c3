# SPDX-License-Identifier: MIT
"""What the routes share: answers, the query, and what happened behind an answer."""

import json
import threading
from urllib.parse import parse_qsl

_lock = threading.Lock()
_events = {}


class Query:
    """The query string: first values by name, all of them by `all`."""

    def __init__(self, pairs):
        self._pairs = pairs

    def __call__(self, name, default=""):
        for key, value in self._pairs:
            if key == name:
                return value
        return default

    def all(self, name):
        return [value for key, value in self._pairs if key == name]

    def number(self, name, default=0):
        return int(self(name, str(default)))


def parse_query(environ):
    pairs = parse_qsl(environ.get("QUERY_STRING", ""), True, encoding="latin-1")
    return Query(pairs)


def reply(start_response, content, kind="text/plain", status="200 OK", fields=()):
    """Answer with bytes and their length."""
    start_response(status, [
        ("Content-Type", kind), ("Content-Length", str(len(content))), *fields])
    return [content]


def text(start_response, content, status="200 OK", fields=()):
    return reply(start_response, content.encode("latin-1"), status=status, fields=fields)


def as_json(start_response, value):
    content = json.dumps(value, sort_keys=True).encode("ascii")
    return reply(start_response, content, "application/json")


def note(key, event):
    """Remember an event; /events shows those of a key."""
    with _lock:
        _events.setdefault(key, []).append(event)


def noted(key):
    with _lock:
        return list(_events.get(key, ()))


class Body:
    """An iterable that notes what the server does with it.

    Its iterator has a close() of its own, which the server must not call: PEP 3333
    speaks of the iterable that the application returned.
    """

    def __init__(self, key, source):
        self.key = key
        self.source = source

    def __iter__(self):
        note(self.key, "iter")
        return Body._Iterator(self.key, self.source)

    def close(self):
        note(self.key, "close")

    class _Iterator:
        def __init__(self, key, source):
            self.key = key
            self.source = iter(source)

        def __iter__(self):
            return self

        def __next__(self):
            try:
                piece = next(self.source)
            except StopIteration:
                note(self.key, "end")
                raise
            note(self.key, "next")
            return piece

        def close(self):
            note(self.key, "close of the iterator")

# SPDX-License-Identifier: MIT
"""What the stress test asks: every answer carries the id of its request at both ends."""

import ctypes
import time
from urllib.parse import parse_qsl

usleep = ctypes.PyDLL(None).usleep  # keeps the interpreter's lock
BIG = b"b" * (300 << 10)


def wait(how, us):
    """Takes about so many microseconds, in one of three ways."""
    if how == "sleep":
        time.sleep(us / 1e6)
    elif how == "spin":
        end = time.perf_counter() + us / 1e6
        while time.perf_counter() < end:
            pass
    elif how == "hold":
        usleep(us)


def pieces(number, body, how, us):
    """The answer in pieces, with the wait between them."""
    yield number
    wait(how, us)
    yield body
    yield number


def app(environ, start_response):
    query = dict(parse_qsl(environ["QUERY_STRING"]))
    number = query["n"].encode()
    how, us = query.get("how", ""), int(query.get("us", 0))
    body = environ["wsgi.input"].read()
    if "big" in query:
        body += BIG
    start_response("200 OK", [("X-Id", query["n"])])
    if "pieces" in query:
        return pieces(number, body, how, us)
    wait(how, us)
    return [number + body + number]

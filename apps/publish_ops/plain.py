# SPDX-License-Identifier: MIT
"""A WSGI application that publishes from its only thread, and from its exit handler."""

import atexit
import json
import sys

import m0pub


def bye():
    print("published at the end: %d" % m0pub.publish("end", "bye"), file=sys.stderr, flush=True)


atexit.register(bye)


def app(environ, start_response):
    """Publishes as many events as the query says and returns their ids."""
    count = int(environ["QUERY_STRING"].partition("=")[2] or 1)
    ids = [m0pub.publish("news", str(i)) for i in range(count)]
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(ids).encode()]

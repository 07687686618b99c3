# SPDX-License-Identifier: MIT
"""A WSGI application whose streams are fed through the HTTP door.

It is a callable of no framework. Its views publish as an application of GRIP does:
with gripcontrol, which finds the door in GRIP_URL, and waits for the answer.
"""

import ctypes
import os
import threading
import time
from urllib.parse import parse_qs

from gripcontrol import GripPubControl, HttpStreamFormat, parse_grip_uri
from pubcontrol import Item

local = threading.local()


def control():
    """The publisher of this thread: one connection that is kept."""
    if not hasattr(local, "control"):
        local.control = GripPubControl(parse_grip_uri(os.environ["GRIP_URL"]))
    return local.control


def send(channel, text):
    content = HttpStreamFormat(f"data: {text}\n\n")
    control().publish(channel, Item(content), blocking=True)


def stream(query):
    """An event stream that is held."""
    fields = [("Content-Type", "text/event-stream"), ("X-Worker", str(os.getpid())),
              ("Grip-Hold", "stream"), ("Grip-Channel", ", ".join(query["channel"]))]
    return fields, "retry: 100\n\n"


def publish(query):
    """Publishes, and waits until it is done."""
    for i in range(int(query.get("times", ["1"])[0])):
        send(query["channel"][0], f"{query['data'][0]} {i}")
    return text("published")


def lock(query):
    """Keeps the GIL, in C, and gives no thread of Python a chance."""
    ctypes.PyDLL(None).usleep(int(query["ms"][0]) * 1000)
    return text("let go")


def late(query):
    """Publishes only once the test says so, which is during a drain."""
    with open(query["gate"][0]) as gate:
        gate.read()
    send(query["channel"][0], "late")
    return text("published")


def fork(query):
    """Leaves a child behind that outlives the service, and names it."""
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    return text(str(child))


def variable(query):
    return text(os.environ.get(query["name"][0], ""))


def names(query):
    return text(" ".join(sorted(name for name in os.environ if name.startswith("M0_"))))


def text(body):
    return [("Content-Type", "text/plain"), ("X-Worker", str(os.getpid()))], body


routes = {
    "/stream": stream,
    "/publish": publish,
    "/lock": lock,
    "/late": late,
    "/fork": fork,
    "/variable": variable,
    "/names": names,
}


def app(environ, start_response):
    view = routes.get(environ["PATH_INFO"])
    if view is None:
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"no such view\n"]
    fields, body = view(parse_qs(environ["QUERY_STRING"], keep_blank_values=True))
    start_response("200 OK", fields)
    return [body.encode()]

# SPDX-License-Identifier: MIT
"""A WSGI application with WebSockets, in synchronous views of no framework.

What a test sends is what the view does: the query of /ws says how an upgrade is
answered, and a message that is a JSON object says how it is answered itself.
"""

import json
import os
import time
from urllib.parse import parse_qs, urlencode

import m0pub

import events


def socket(environ):
    """Accepts a WebSocket, or answers as the query says: status, f, body, sleep."""
    query = parse_qs(environ["QUERY_STRING"], keep_blank_values=True, encoding="latin-1")
    time.sleep(float(query.get("sleep", ["0"])[0]))
    fields = [("M0-Hold", "websocket")]
    if "f" in query:
        fields = [tuple(f.split(": ", 1)) for f in query["f"]]
    body = query.get("body", [""])[0]
    if body == "seen":
        body = seen(environ)
    if body == "raise":
        raise RuntimeError("the view was to fail")
    return query.get("status", ["200 OK"])[0], fields, body.encode("latin-1")


def message(environ):
    """Answers a message: its own text, or what it says as JSON."""
    if "HTTP_M0_OPCODE" not in environ:
        return reply("no message")
    size = int(environ["CONTENT_LENGTH"])
    data = environ["wsgi.input"].read(size)
    log(environ, data)
    if environ["HTTP_M0_OPCODE"] == "binary":
        return "200 OK", [("M0-Opcode", "binary")], data[::-1]
    text = data.decode()
    if text == "seen":
        return reply(seen(environ))
    if text == "pid":
        return reply("echo " + str(os.getpid()))
    if not text.startswith("{"):
        return reply("echo " + text)
    told = json.loads(text)
    time.sleep(told.get("sleep", 0))
    if "raise" in told:
        raise RuntimeError(told["raise"])
    fields = [tuple(f.split(": ", 1)) for f in told.get("f", [])]
    body = told.get("body", "").encode("latin-1") + b"x" * told.get("size", 0)
    return told.get("status", "200 OK"), fields, body


def seen(environ):
    """Shows what the view is told."""
    return json.dumps({k: v for k, v in environ.items() if isinstance(v, str)})


def log(environ, data):
    """Notes ends of sockets, and the message "note", in the file WS_LOG."""
    path = os.environ.get("WS_LOG")
    if path and (environ["HTTP_M0_OPCODE"] == "close" or data == b"note"):
        line = urlencode({
            "code": environ.get("HTTP_M0_CODE", data),
            "slot": environ["HTTP_M0_SLOT"],
            "channel": environ["HTTP_M0_CHANNEL"],
        })
        with open(path, "a") as f:
            f.write(line + "\n")


def publish(environ):
    """Publishes events."""
    query = parse_qs(environ["QUERY_STRING"], keep_blank_values=True)
    data = query.get("data", [""])[0] + "x" * int(query.get("size", ["0"])[0])
    for i in range(int(query.get("times", ["1"])[0])):
        m0pub.publish(query["channel"][0], data.replace("%i", str(i)),
                      event=query.get("event", [""])[0])
    return reply("ok")


def worker(environ):
    """Names the process that answers."""
    return reply(str(os.getpid()))


def slow(environ):
    """Takes its time."""
    time.sleep(float(environ["QUERY_STRING"]))
    return reply("slow")


def reply(text):
    return "200 OK", [("Content-Type", "text/plain")], text.encode()


routes = {
    "/ws": socket,
    "/socket": socket,
    "/ws/message": message,
    "/publish": publish,
    "/worker": worker,
    "/slow": slow,
    "/events": events.events,
    "/asked": events.told,
    "/item": events.publish,
}


def app(environ, start_response):
    """Is the application."""
    view = routes.get(environ["PATH_INFO"])
    if view is None:
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"no such view\n"]
    status, fields, body = view(environ)
    start_response(status, fields)
    return [body]

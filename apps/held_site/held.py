# SPDX-License-Identifier: MIT
"""A WSGI application whose views answer with holds of every kind.

It is a callable of no framework. What a request asks for it gets: the query of /say
names the status, the fields and the body of the answer, so that a test says in one
line what the application said.
"""

import json
import os
import threading
import time
from urllib.parse import parse_qs

import m0pub

lock = threading.Lock()
asked = []  # what /next was asked, in order
script = []  # what /next says, one query a call; the last one stays


def say(environ, query):
    """Answers as the query says: status, f (a field, "Name: value", any number), body."""
    status = query.get("status", ["200 OK"])[0]
    fields = [tuple(f.split(": ", 1)) for f in query.get("f", [])]
    body = [part.encode() for part in query.get("body", [])]
    if "size" in query:
        body.append(b"x" * int(query["size"][0]))
    return status, fields, body


def seen(environ, query):
    """Shows the fields that the application saw."""
    shown = {k: v for k, v in environ.items() if k.startswith("HTTP_")}
    return reply(json.dumps(shown, sort_keys=True))


def publish(environ, query):
    """Publishes an event, and answers with its id."""
    event = query.get("event", [""])[0]
    data = query.get("data", [""])[0]
    if "size" in query:
        data = "x" * int(query["size"][0])
    ident = 0
    for _ in range(int(query.get("times", ["1"])[0])):
        ident = m0pub.publish(query["channel"][0], data, event=event)
    return reply(str(ident))


def plan(environ, query):
    """Sets what /next says from now on, and forgets what it was asked."""
    with lock:
        script[:] = query.get("say", [])
        asked.clear()
    return reply("ok")


def following(environ, query):
    """Is the next link of a held answer."""
    with lock:
        asked.append({
            "target": environ["PATH_INFO"] + "?" + environ["QUERY_STRING"],
            "last": environ.get("HTTP_GRIP_LAST"),
            "sig": environ.get("HTTP_GRIP_SIG"),
            "method": environ["REQUEST_METHOD"],
        })
        text = script.pop(0) if len(script) > 1 else script[0]
    return say(environ, parse_qs(text, keep_blank_values=True))


def calls(environ, query):
    """Lists what /next was asked."""
    with lock:
        return reply(json.dumps(asked))


def variable(environ, query):
    """Shows a variable of the environment."""
    return reply(os.environ.get(query["name"][0], ""))


def worker(environ, query):
    """Names the process that answers."""
    return reply(str(os.getpid()))


def busy(environ, query):
    """Computes for so many seconds."""
    end = time.monotonic() + float(query["seconds"][0])
    while time.monotonic() < end:
        pass
    return reply("done")


def reply(text):
    return "200 OK", [("Content-Type", "text/plain")], [text.encode()]


routes = {
    "/say": say,
    "/seen": seen,
    "/publish": publish,
    "/plan": plan,
    "/next": following,
    "/calls": calls,
    "/variable": variable,
    "/worker": worker,
    "/busy": busy,
}


def app(environ, start_response):
    """Is the application."""
    view = routes.get(environ["PATH_INFO"])
    if view is None:
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"no such view\n"]
    query = parse_qs(environ["QUERY_STRING"], keep_blank_values=True)
    status, fields, body = view(environ, query)
    start_response(status, fields)
    return body

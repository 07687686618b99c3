# SPDX-License-Identifier: MIT
"""WebSocket-over-HTTP as it is on the wire: what a test sends is what the view says.

The query of /events says how the opening is answered: status, f, body (events). A
message that is a JSON object says how it is answered itself; anything else is told to
/asked alone.
"""

import json
import os
import threading
from urllib.parse import parse_qs, unquote

EVENTS = "application/websocket-events"
lock = threading.Lock()
asked = {}  # by connection id: what each request was


def events(environ):
    """Answers events."""
    query = parse_qs(environ["QUERY_STRING"], keep_blank_values=True, encoding="latin-1")
    if environ["REQUEST_METHOD"] == "GET":
        status = query.get("get", ["405 Method Not Allowed"])[0]
        fields = [tuple(f.split(": ", 1)) for f in query.get("getf", [])]
        return status, fields, b"of the GET"
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    note(query["id"][0], environ, body)
    if body == b"OPEN\r\n":
        told = {k: v for k, v in query.items() if k in ("f", "status", "body")}
        told["status"] = told.get("status", ["200 OK"])[0]
        told["body"] = told.get("body", ["OPEN\r\n"])[0]
    else:
        told = order(body)
    fields = [tuple(f.split(": ", 1)) for f in told.get("f", [])]
    if not any(name == "Content-Type" for name, _ in fields):
        fields.append(("Content-Type", EVENTS))
    return told.get("status", "200 OK"), fields, told.get("body", "").encode("latin-1")


def order(body):
    """The JSON object in the last message of a request, if there is one."""
    at = body.rfind(b"{\"")
    return json.loads(body[at:body.rindex(b"}") + 1]) if at >= 0 else {}


def note(ident, environ, body):
    fields = {k: v for k, v in environ.items() if isinstance(v, str)}
    with lock:
        asked.setdefault(ident, []).append({"body": body.decode("latin-1"), "fields": fields})


def told(environ):
    """Says what the requests of a socket were."""
    with lock:
        text = json.dumps(asked.get(unquote(environ["QUERY_STRING"]), []))
    return "200 OK", [("Content-Type", "application/json")], text.encode()


def publish(environ):
    """Publishes an item through the HTTP door, as gripcontrol does."""
    from gripcontrol import GripPubControl, WebSocketMessageFormat, parse_grip_uri
    from pubcontrol import Item

    query = parse_qs(environ["QUERY_STRING"], keep_blank_values=True)
    control = GripPubControl(parse_grip_uri(os.environ["GRIP_URL"]))
    item = Item(WebSocketMessageFormat(query["data"][0]),
                meta=dict(part.split("=") for part in query.get("meta", [])))
    control.publish(query["channel"][0], item, blocking=True)
    return "200 OK", [("Content-Type", "text/plain")], b"ok"

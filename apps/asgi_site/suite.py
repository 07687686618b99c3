# SPDX-License-Identifier: MIT
"""What the routes of the bare application share: the journal, the gates and short answers."""

import asyncio
import json

EVENTS = {}  # token: notes
GATES = {}  # token: asyncio.Event
NOTES_MAX = 20_000  # of one token: a stream that never ends must not fill the memory


def note(token, text):
    """Notes that text happened to the route of token; "" is nobody's token."""
    if token and len(EVENTS.setdefault(token, [])) < NOTES_MAX:
        EVENTS[token].append(text)


def gate_of(token):
    """The gate of token, closed at first."""
    if token not in GATES:
        GATES[token] = asyncio.Event()
    return GATES[token]


async def reply(send, body=b"", status=200, headers=()):
    """One whole answer, its length given."""
    head = [(b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


async def reply_json(send, value):
    """value as an answer."""
    text = json.dumps(value).encode()
    await reply(send, text, headers=[(b"content-type", b"application/json")])


async def start(send, status=200, headers=(), **more):
    """The head of an answer."""
    await send({"type": "http.response.start", "status": status, "headers": headers, **more})


async def body(send, data=b"", more=False):
    """A part of an answer's body."""
    await send({"type": "http.response.body", "body": data, "more_body": more})


def plain(value):
    """value as JSON knows it: bytes become text, byte for byte."""
    if isinstance(value, (bytes, bytearray)):
        return value.decode("latin-1")
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return repr(value)

# SPDX-License-Identifier: MIT
"""The routes of the bare application that use extensions; 501 where one is not offered."""

import os

from suite import body, gate_of, note, reply, start

HERE = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(HERE, "testdata", "poem.txt")


def offered(scope, name):
    """Whether the server offers the extension."""
    return name in (scope.get("extensions") or {})


async def missing(send):
    """The answer of a route whose extension is not offered."""
    await reply(send, b"extension not offered\n", 501)


async def hint(scope, receive, send, query):
    """Two early hints ahead of the answer, which waits at the gate."""
    if not offered(scope, "http.response.early_hint"):
        return await missing(send)
    await start(send, 200, [(b"content-length", b"5")])
    links = [b"</a.css>; rel=preload; as=style", b"</b.js>; rel=preload; as=script"]
    await send({"type": "http.response.early_hint", "links": links})
    await send({"type": "http.response.early_hint", "links": iter(links[:1])})
    if "gate" in query:
        await gate_of(query["t"]).wait()
    await body(send, b"hint\n")


async def trailers(scope, receive, send, query):
    """A body in two parts and trailers in two messages."""
    if not offered(scope, "http.response.trailers"):
        return await missing(send)
    await start(send, 200, [(b"trailer", b"x-sum, x-count")], trailers=True)
    await body(send, b"one", True)
    await body(send, b"two")
    await send({"type": "http.response.trailers", "headers": [(b"x-sum", b"6")],
                "more_trailers": True})
    await send({"type": "http.response.trailers", "headers": [(b"x-count", b"2")]})
    note(query.get("t", ""), "trailers sent")


async def pathsend(scope, receive, send, query):
    """A file by its path; ?file=none names one that is not there."""
    if not offered(scope, "http.response.pathsend"):
        return await missing(send)
    size = os.path.getsize(FILE)
    name = FILE if query.get("file") != "none" else FILE + ".none"
    await start(send, 200, [(b"content-length", b"%d" % size)] if "cl" in query else [])
    await send({"type": "http.response.pathsend", "path": name})
    note(query.get("t", ""), "path sent")


async def zerocopy(scope, receive, send, query):
    """Parts of a file and bytes between them; the position of the file counts."""
    if not offered(scope, "http.response.zerocopysend"):
        return await missing(send)
    part = {"type": "http.response.zerocopysend", "more_body": True}
    with open(FILE, "rb") as file:
        await start(send)
        await send({**part, "file": file, "offset": 0, "count": 10})
        await body(send, b"|", True)
        file.seek(5)
        await send({**part, "file": file, "count": 5})
        await body(send, b"|", True)
        await send({**part, "file": file, "offset": 20, "more_body": False})


ROUTES = {"hint": hint, "trailers": trailers, "pathsend": pathsend, "zerocopy": zerocopy}

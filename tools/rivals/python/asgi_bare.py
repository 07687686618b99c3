# SPDX-License-Identifier: MIT
"""ASGI without a framework: a short answer, and WebSocket messages sent back."""

START = {"type": "http.response.start", "status": 200,
         "headers": [(b"content-type", b"text/plain"), (b"content-length", b"13")]}
BODY = {"type": "http.response.body", "body": b"Hello, world!"}


async def app(scope, receive, send):
    if scope["type"] == "http":
        await send(START)
        await send(BODY)
    elif scope["type"] == "websocket":
        await echo(receive, send)
    else:
        await lifespan(receive, send)


async def echo(receive, send):
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "bytes": message["bytes"]})


async def lifespan(receive, send):
    while (message := await receive())["type"] != "lifespan.shutdown":
        await send({"type": message["type"] + ".complete"})
    await send({"type": "lifespan.shutdown.complete"})

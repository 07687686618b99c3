# SPDX-License-Identifier: MIT
"""The contract of the framework applications, in Starlette."""

import asyncio
import contextlib
import contextvars
import os
import threading

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import (FileResponse, JSONResponse, PlainTextResponse, RedirectResponse,
                                 StreamingResponse)
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles

from suite import EVENTS, note

HERE = os.path.dirname(os.path.abspath(__file__))
WHO = contextvars.ContextVar("who", default="nobody")


@contextlib.asynccontextmanager
async def lifespan(app):
    """What every request finds in its state."""
    yield {"made": "at startup"}


class Stamp:
    """Middleware: a header on every answer, and a context variable for the request."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            WHO.set(dict(scope["headers"]).get(b"x-who", b"").decode())

        async def stamped(message):
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"x-stamp", b"starlette")]
            await send(message)

        await self.app(scope, receive, stamped)


async def hello(request):
    return PlainTextResponse("hello, world")


async def item(request):
    return JSONResponse({"id": request.path_params["id"], "q": request.query_params.get("q")})


async def form(request):
    found = await request.form()
    return JSONResponse({k: v for k, v in found.items()})


async def upload(request):
    found = await request.form()
    data = await found["file"].read()
    return JSONResponse({"name": found["file"].filename, "size": len(data)})


async def echo_json(request):
    try:
        value = await request.json()
        return JSONResponse({"name": value["name"], "age": int(value["age"])})
    except (ValueError, KeyError):
        raise HTTPException(422, "name and age are wanted")


async def body(request):
    total = 0
    async for part in request.stream():
        total += len(part)
    return JSONResponse({"size": total})


async def stream(request):
    async def parts():
        for i in range(100):
            yield "part %d\n" % i
            await asyncio.sleep(0)

    return StreamingResponse(parts(), media_type="text/plain")


async def events(request):
    query = request.query_params

    async def ticks():
        try:
            for i in range(100_000):
                yield "id: %d\ndata: tick%s\n\n" % (i, "." * int(query.get("size", "0")))
                await asyncio.sleep(float(query.get("pause", "0.01")))
        finally:
            note(query.get("t", ""), "left")

    return StreamingResponse(ticks(), media_type="text/event-stream")


async def notes(request):
    return JSONResponse(EVENTS.get(request.query_params["t"], []))


async def file(request):
    return FileResponse(os.path.join(HERE, "testdata", "poem.txt"), filename="poem.txt")


async def cookie(request):
    answer = PlainTextResponse(request.cookies.get("seen", "no"))
    answer.set_cookie("seen", "yes", httponly=True)
    answer.set_cookie("two", "2")
    return answer


async def moved(request):
    return RedirectResponse("/hello", 307)


async def fail(request):
    raise RuntimeError("meant to fail")


async def background(request):
    return PlainTextResponse("begun", background=BackgroundTask(
        note, request.query_params["t"], "background done"))


def sync_view(request):
    return JSONResponse({"main": threading.current_thread() is threading.main_thread()})


async def who(request):
    await asyncio.sleep(0.01)
    return PlainTextResponse(WHO.get())


async def state(request):
    return JSONResponse({"made": request.state.made})


async def headers(request):
    return PlainTextResponse("", headers={"X-Latin": "caf\u00e9"})


async def client(request):
    return JSONResponse({"host": request.client.host, "url": str(request.url)})


async def empty(request):
    return PlainTextResponse(status_code=204)


async def ws_echo(websocket):
    await websocket.accept(subprotocol=next(iter(websocket.scope["subprotocols"]), None))
    async for text in websocket.iter_text():
        await websocket.send_text("echo " + text)


async def ws_json(websocket):
    await websocket.accept()
    value = await websocket.receive_json()
    await websocket.send_json({"got": value})
    await websocket.close(4001, "enough")


async def ws_deny(websocket):
    await websocket.close()


ROUTES = [
    Route("/hello", hello), Route("/item/{id:int}", item), Route("/form", form, methods=["POST"]),
    Route("/upload", upload, methods=["POST"]), Route("/json", echo_json, methods=["POST"]),
    Route("/body", body, methods=["POST"]), Route("/stream", stream), Route("/sse", events),
    Route("/events", notes), Route("/file", file), Route("/cookie", cookie),
    Route("/moved", moved), Route("/fail", fail), Route("/background", background),
    Route("/sync", sync_view), Route("/who", who), Route("/state", state),
    Route("/headers", headers), Route("/client", client), Route("/empty", empty),
    WebSocketRoute("/ws/echo", ws_echo), WebSocketRoute("/ws/json", ws_json),
    WebSocketRoute("/ws/deny", ws_deny),
    Mount("/static", StaticFiles(directory=os.path.join(HERE, "testdata"))),
]

app = Starlette(routes=ROUTES, lifespan=lifespan, middleware=[Middleware(Stamp)])

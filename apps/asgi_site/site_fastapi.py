# SPDX-License-Identifier: MIT
"""The contract of the framework applications, in FastAPI."""

import asyncio
import os
import threading

from fastapi import (BackgroundTasks, Cookie, Depends, FastAPI, Form, Request, Response,
                     UploadFile, WebSocket)
from fastapi.responses import (FileResponse, PlainTextResponse, RedirectResponse,
                               StreamingResponse)
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel

import site_starlette
from site_starlette import HERE, WHO
from suite import EVENTS, note

app = FastAPI(lifespan=site_starlette.lifespan)
app.add_middleware(site_starlette.Stamp)
app.mount("/static", StaticFiles(directory=os.path.join(HERE, "testdata")))


class Person(BaseModel):
    name: str
    age: int


async def token_of(t: str = ""):
    """A dependency that lives as long as the answer."""
    yield t
    note(t, "dependency closed")


@app.get("/hello", response_class=PlainTextResponse)
async def hello():
    return "hello, world"


@app.get("/item/{id}")
async def item(id: int, q: str = None):
    return {"id": id, "q": q}


@app.post("/form")
async def form(name: str = Form(), word: str = Form()):
    return {"name": name, "word": word}


@app.post("/upload")
async def upload(file: UploadFile):
    return {"name": file.filename, "size": len(await file.read())}


@app.post("/json")
async def echo_json(person: Person):
    return person


@app.post("/body")
async def body(request: Request):
    total = 0
    async for part in request.stream():
        total += len(part)
    return {"size": total}


@app.get("/stream")
async def stream():
    async def parts():
        for i in range(100):
            yield "part %d\n" % i
            await asyncio.sleep(0)

    return StreamingResponse(parts(), media_type="text/plain")


@app.get("/sse")
async def events(request: Request):
    return await site_starlette.events(request)


@app.get("/events")
async def notes(t: str):
    return EVENTS.get(t, [])


@app.get("/file")
async def file():
    return FileResponse(os.path.join(HERE, "testdata", "poem.txt"), filename="poem.txt")


@app.get("/cookie", response_class=PlainTextResponse)
async def cookie(response: Response, seen: str = Cookie("no")):
    response.set_cookie("seen", "yes", httponly=True)
    response.set_cookie("two", "2")
    return seen


@app.get("/moved")
async def moved():
    return RedirectResponse("/hello", 307)


@app.get("/fail")
async def fail():
    raise RuntimeError("meant to fail")


@app.get("/background", response_class=PlainTextResponse)
async def background(work: BackgroundTasks, t: str = Depends(token_of)):
    work.add_task(note, t, "background done")
    return "begun"


@app.get("/sync")
def sync_view():
    return {"main": threading.current_thread() is threading.main_thread()}


@app.get("/who", response_class=PlainTextResponse)
async def who():
    await asyncio.sleep(0.01)
    return WHO.get()


@app.get("/state")
async def state(request: Request):
    return {"made": request.state.made}


@app.get("/headers", response_class=PlainTextResponse)
async def headers(response: Response):
    response.headers["X-Latin"] = "caf\u00e9"
    return ""


@app.get("/client")
async def client(request: Request):
    return {"host": request.client.host, "url": str(request.url)}


@app.get("/empty", status_code=204)
async def empty():
    return None


@app.websocket("/ws/echo")
async def ws_echo(websocket: WebSocket):
    await site_starlette.ws_echo(websocket)


@app.websocket("/ws/json")
async def ws_json(websocket: WebSocket):
    await site_starlette.ws_json(websocket)


@app.websocket("/ws/deny")
async def ws_deny(websocket: WebSocket):
    await site_starlette.ws_deny(websocket)

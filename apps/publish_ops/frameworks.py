# SPDX-License-Identifier: MIT
"""The object as Starlette and FastAPI give it to their views."""

import contextlib

from fastapi import FastAPI, Request, WebSocket
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute


@contextlib.asynccontextmanager
async def lifespan(app):
    yield {"made": "at startup"}


async def round_trip(state):
    """What is published comes back, and the state is the application's besides."""
    messages = state.m0.subscribe("round")
    number = await state.m0.publish("round", "trip", event="named")
    async for message in messages:
        if message.id == str(number):
            return {"made": state.made, "message": message._asdict(), "m0": repr(state.m0)}


async def view(request):
    return JSONResponse(await round_trip(request.state))


async def socket(websocket):
    await websocket.accept()
    await websocket.send_json(await round_trip(websocket.state))
    await websocket.close()


starlette = Starlette(lifespan=lifespan, routes=[Route("/", view), WebSocketRoute("/ws", socket)])
fastapi = FastAPI(lifespan=lifespan)


@fastapi.get("/")
async def index(request: Request):
    return await round_trip(request.state)


@fastapi.websocket("/ws")
async def talk(websocket: WebSocket):
    await socket(websocket)

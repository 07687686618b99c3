# SPDX-License-Identifier: MIT
"""The package websockets as a client, both its synchronous and its asyncio side.
Argument: a room. Ends with an error when something is not as it should be."""

import asyncio
import os
import sys

from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

URL = os.environ["SITE_URL"].replace("http://", "ws://")
ROOM = f"{URL}/socket/?room={sys.argv[1]}"


def expect(got, want):
    if got != want:
        sys.exit(f"got {got!r}, want {want!r}")


def echo():
    with connect(f"{URL}/echo/") as ws:
        for message in ("text", "ü €", b"\x00\xff", "x" * 10_000):
            ws.send(message)
            expect(ws.recv(10), message)
        ws.send(["in ", "three ", "frames"])
        expect(ws.recv(10), "in three frames")
        expect(ws.ping("mine").wait(10), True)
    expect(ws.protocol.close_code, 1000)


def refusal():
    try:
        connect(f"{URL}/refused/").close()
    except InvalidStatus as e:
        expect(e.response.status_code, 403)
    else:
        sys.exit("the handshake was not refused")


async def room():
    async with connect_async(ROOM) as one, connect_async(ROOM) as two:
        for ws in (one, two):
            await asyncio.wait_for(await ws.ping(), 10)
        for n in range(50):
            await one.send(str(n))
        for ws in (one, two):
            for n in range(50):
                expect(await asyncio.wait_for(ws.recv(), 10), str(n))


async def closed_by_the_view():
    async with connect_async(f"{URL}/driven/") as ws:
        await ws.send('[{"do": "close", "value": 4009}]')
        try:
            await asyncio.wait_for(ws.recv(), 10)
        except ConnectionClosed as e:
            expect(e.rcvd.code, 4009)


echo()
refusal()
asyncio.run(room())
asyncio.run(closed_by_the_view())

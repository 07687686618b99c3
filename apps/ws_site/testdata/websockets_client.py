# SPDX-License-Identifier: MIT
"""The package websockets as a client, its synchronous and its asyncio side. Argument:
the address of the site. Ends with an error when something is not as it should be."""

import asyncio
import sys

from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

URL = sys.argv[1].replace("http://", "ws://")
HELD = f"{URL}/ws?f=M0-Hold%3A+websocket&f=M0-Channel%3A+crowd"


def expect(got, want):
    if got != want:
        sys.exit(f"got {got!r}, want {want!r}")


def talk():
    with connect(f"{HELD}&body=hello", origin=sys.argv[1]) as ws:
        expect(ws.recv(10), "hello")
        for text in ("text", "ü €", "x" * 100_000):
            ws.send(text)
            expect(ws.recv(10), "echo " + text)
        ws.send(b"\x00\xff")
        expect(ws.recv(10), b"\xff\x00")
        ws.send(["in ", "three ", "frames"])
        expect(ws.recv(10), "echo in three frames")
        expect(ws.ping("mine").wait(10), True)
    expect(ws.protocol.close_code, 1000)


def refusal():
    for url, origin, status in (
        (f"{URL}/ws?status=403+Forbidden&f=A%3A+b", None, 403),
        (HELD, "https://evil.example", 403),
        (f"{URL}/ws/message", None, 404),
    ):
        try:
            connect(url, origin=origin).close()
        except InvalidStatus as e:
            expect(e.response.status_code, status)
        else:
            sys.exit(f"the handshake for {url} was not refused")


def closed():
    with connect(HELD) as ws:
        ws.send('{"f": ["M0-Close: 4001 go away"]}')
        try:
            ws.recv(10)
        except ConnectionClosed as e:
            expect((e.rcvd.code, e.rcvd.reason), (4001, "go away"))
        else:
            sys.exit("the socket was not closed")


async def crowd():
    sockets = [await connect_async(HELD) for _ in range(50)]
    await sockets[0].send('{"f": ["M0-Channel: crowd, told"], "body": "in"}')
    expect(await sockets[0].recv(), "in")
    reader, writer = await asyncio.open_connection(*sys.argv[1][len("http://"):].split(":"))
    writer.write(b"GET /publish?channel=crowd&data=all HTTP/1.1\r\nHost: a\r\n\r\n")
    for ws in sockets:
        expect(await asyncio.wait_for(ws.recv(), 10), "all")
    writer.close()
    for ws in sockets:
        await ws.close(4000)
        expect(ws.close_code, 4000)


talk()
refusal()
closed()
asyncio.run(crowd())
print("all is well")

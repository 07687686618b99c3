# SPDX-License-Identifier: MIT
"""An ASGI application that takes its time and holds nobody up."""

import asyncio


async def app(scope, receive, send):
    """Answers after a quarter of a second of waiting."""
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    await asyncio.sleep(0.25)
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"calm\n"})

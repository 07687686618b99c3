# SPDX-License-Identifier: MIT
"""FastAPI: a checked parameter and an answer in JSON."""

from fastapi import FastAPI

app = FastAPI()


@app.get("/items/{item}")
async def read(item: int, q: str = ""):
    return {"item": item, "q": q, "tags": ["a", "b", "c"], "price": 12.5}

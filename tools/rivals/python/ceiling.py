# SPDX-License-Identifier: MIT
"""Calls an application in a loop, with no server at all: what Python alone costs.

    ceiling.py wsgi|asgi APP PATH BODY_BYTES SECONDS

prints {"rate": calls a second, "cpu_us": of a call, "bytes": of one body}.
"""

import asyncio
import importlib
import io
import json
import sys
import time

HEADERS = {"HTTP_HOST": "127.0.0.1", "HTTP_USER_AGENT": "ceiling", "HTTP_ACCEPT": "*/*"}


def environ_of(path, size):
    environ = {
        "REQUEST_METHOD": "POST" if size else "GET", "SCRIPT_NAME": "", "PATH_INFO": path,
        "QUERY_STRING": "", "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "127.0.0.1", "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http", "wsgi.errors": sys.stderr, "wsgi.multithread": False,
        "wsgi.multiprocess": False, "wsgi.run_once": False,
    }
    environ.update(HEADERS)
    if size:
        environ["CONTENT_LENGTH"] = str(size)
    return environ


def wsgi_caller(app, path, size):
    base, body = environ_of(path, size), b"x" * size

    def start_response(status, headers, exc_info=None):
        return None

    def call():
        environ = dict(base)
        environ["wsgi.input"] = io.BytesIO(body)
        answer = app(environ, start_response)
        total = 0
        for piece in answer:
            total += len(piece)
        if hasattr(answer, "close"):
            answer.close()
        return total

    return call


def asgi_scope(path):
    return {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.5"}, "http_version": "1.1",
        "method": "GET", "scheme": "http", "path": path, "raw_path": path.encode(),
        "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "headers": [(b"host", b"127.0.0.1"), (b"user-agent", b"ceiling"), (b"accept", b"*/*")],
    }


def asgi_caller(app, path):
    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def call():
        total = 0

        async def send(message):
            nonlocal total
            total += len(message.get("body", b""))

        scope = asgi_scope(path)
        scope["state"] = {}
        await app(scope, receive, send)
        return total

    return call


def report(calls, wall, cpu, size):
    print(json.dumps({"rate": calls / wall, "cpu_us": cpu / calls * 1e6, "bytes": size}))


def loop_wsgi(call, seconds):
    calls, size = 0, call()
    start = now = time.perf_counter()
    cpu = time.process_time()
    while not calls or now - start < seconds:
        call()
        calls += 1
        now = time.perf_counter()
    report(calls, now - start, time.process_time() - cpu, size)


async def loop_asgi(call, seconds):
    calls, size = 0, await call()
    start = now = time.perf_counter()
    cpu = time.process_time()
    while not calls or now - start < seconds:
        # A task for each call, as every server makes one.
        await asyncio.get_running_loop().create_task(call())
        calls += 1
        now = time.perf_counter()
    report(calls, now - start, time.process_time() - cpu, size)


def main():
    kind, target, path, size, seconds = sys.argv[1:]
    sys.path.insert(0, "")
    module, _, name = target.partition(":")
    app = getattr(importlib.import_module(module), name)
    if kind == "wsgi":
        loop_wsgi(wsgi_caller(app, path, int(size)), float(seconds))
    else:
        import uvloop

        turns = uvloop.new_event_loop()
        turns.run_until_complete(loop_asgi(asgi_caller(app, path), float(seconds)))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""WSGI without a framework: what the server itself costs."""

BODY = b"Hello, world!"
PIECE = b"x" * 99 + b"\n"


def hello(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "13")])
    return [BODY]


def echo(environ, start_response):
    data = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    start_response("200 OK", [("Content-Type", "application/octet-stream"),
                              ("Content-Length", str(len(data)))])
    return [data]


def chunks(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return pieces()


def pieces():
    for _ in range(100):
        yield PIECE

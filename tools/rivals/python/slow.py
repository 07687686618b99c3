# SPDX-License-Identifier: MIT
"""A quick view and one that waits for 5 ms, as for a database."""

import time


def app(environ, start_response):
    if environ["PATH_INFO"] == "/slow":
        time.sleep(0.005)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "13")])
    return [b"Hello, world!"]

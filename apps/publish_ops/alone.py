# SPDX-License-Identifier: MIT
"""A WSGI application that has no m0pub but the engine's, and publishes from forked children."""

import os



def app(environ, start_response):
    """Imports m0pub for the first time, in a child that was forked."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            import m0pub

            m0pub.publish("news", "from a child")
            os.write(writing, m0pub.__file__.encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(pid, 0)
    with os.fdopen(reading, "rb") as pipe:
        found = pipe.read()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [found or b"nothing"]

# SPDX-License-Identifier: MIT
"""A WSGI application of no framework: every route is one promise of PEP 3333.

`app` is the callable. Nothing of it knows the server that runs it, so the same
suite tells servers apart. The routes are in the modules of `bare`, by subject.
"""

import os
import signal

from bare import body, environment, failing, files, output, process, start
from bare.kit import parse_query, text

ROUTES = {}
for module in (body, environment, failing, files, output, process, start):
    ROUTES.update(module.ROUTES)


def app(environ, start_response):
    """Call the route of the path, or answer 404."""
    path = environ["PATH_INFO"]
    route = ROUTES.get(path)
    if route is None and path.startswith(("/environ/at/", "//environ/")):
        route = environment.dump
    if route is None:
        return text(start_response, "no such route\n", status="404 Not Found")
    return route(environ, start_response, parse_query(environ))


def create_app():
    """Return the application, for servers that take a factory."""
    return app


if os.environ.get("BARE_TAKES_SIGTERM"):
    # An application that asks for the signal by which the server is stopped.
    signal.signal(signal.SIGTERM, lambda number, frame: print("BARE took", number, flush=True))

if os.environ.get("BARE_IMPORT"):
    process.at_import(os.environ["BARE_IMPORT"])

# SPDX-License-Identifier: MIT
"""An application that imports nothing of its own, and says what its worker has imported."""

import sys


def app(environ, start_response):
    """Answer with the names of all modules."""
    body = " ".join(sorted(sys.modules)).encode()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]

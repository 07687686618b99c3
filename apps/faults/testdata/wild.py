# SPDX-License-Identifier: MIT
"""A WSGI application whose views do to their worker what no view should."""

import ctypes
import mmap
import os
import sys
import threading
import time


def word(environ):
    """Harms nobody."""
    return b"wild\n"


def raises(environ):
    raise RuntimeError("wild raises")


def leaves(environ):
    """Asks for the end of the interpreter."""
    sys.exit(3)


def drops(environ):
    """Ends the process without a word."""
    os._exit(7)


def crashes(environ):
    """Reads address 0 in C."""
    ctypes.string_at(0)


def holds(environ):
    """Waits in C without letting go of the interpreter. A read, unlike a sleep, goes on
    behind a signal."""
    reading, _ = os.pipe()
    ctypes.PyDLL(None).read(reading, ctypes.create_string_buffer(1), 1)


def clings(environ):
    """Holds the interpreter as holds does, until the pipe that is named gives a byte."""
    reading = os.open(environ["QUERY_STRING"], os.O_RDWR)
    os.write(2, b"wild clings\n")
    ctypes.PyDLL(None).read(reading, ctypes.create_string_buffer(1), 1)
    return b"wild\n"


def locks(environ):
    """Waits for itself."""
    print("wild locks", file=sys.stderr)
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def naps(environ):
    """Takes a quarter of a second."""
    time.sleep(0.25)
    return b"wild\n"


def asks(environ):
    """Asks for more memory than there is."""
    try:
        return bytearray(1 << 31)
    except MemoryError:
        raise MemoryError("wild asks") from None


def hoards(environ):
    """Takes what there is of the address space, and keeps it for a second."""
    kept, size = [], 1 << 24
    while size >= 1 << 12:
        try:
            kept.append(mmap.mmap(-1, size))
        except (MemoryError, OSError):
            size //= 2
    os.write(2, b"wild hoards\n")
    time.sleep(1)
    kept.clear()
    return b"wild\n"


VIEWS = {"/" + view.__name__: view for view in (
    word, raises, leaves, drops, crashes, holds, clings, locks, naps, asks, hoards)}


def app(environ, start_response):
    """Calls the view of the path; every answer names its process."""
    fields = [("X-Worker", str(os.getpid()))]
    if environ["PATH_INFO"] == "/events":
        start_response("200 OK", [*fields, ("M0-Channel", "beat")])
        return []
    if environ["PATH_INFO"] == "/poll":
        print("wild poll", file=sys.stderr)
        start_response("200 OK", [*fields, ("Grip-Hold", "response"), ("Grip-Channel", "none"),
                                  ("Grip-Timeout", environ["QUERY_STRING"])])
        return []
    body = VIEWS[environ["PATH_INFO"]](environ)
    start_response("200 OK", [*fields, ("Content-Length", str(len(body)))])
    return [body]

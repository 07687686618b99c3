# SPDX-License-Identifier: MIT
"""A WSGI application with a stream, and views that keep its server from everything but
the stream. PostgreSQL is no concern of it."""

import ctypes
import gc
import os
import subprocess
import time
from urllib.parse import parse_qs

import m0pub


def say(what):
    """Tell the test that a view has come so far."""
    print("SITE " + what, flush=True)


def stream(environ, q):
    """Is over at once; its answer goes on with what is published to the channel."""
    return ": hi\n\n"


def publish(environ, q):
    """Publish as any view does."""
    return str(m0pub.publish(q["channel"], q["data"], event=q.get("event")))


def sql(environ, q):
    """What a view with a cursor would execute to publish."""
    return m0pub.notify_sql(q["channel"], q["data"], event=q.get("event"))


def worker(environ, q):
    return str(os.getpid())


def sleep(environ, q):
    say("sleeps")
    time.sleep(float(q["s"]))
    return "slept"


def hold(environ, q):
    """Wait in C without letting go of the interpreter, as a careless extension does. A
    read, unlike a sleep, goes on behind a signal."""
    reading, writing = os.pipe()
    subprocess.Popen(["sleep", q["s"]], pass_fds=[writing])
    os.close(writing)
    say("holds")
    ctypes.PyDLL(None).read(reading, ctypes.create_string_buffer(1), 1)
    os.close(reading)
    return "held"


def told(environ, q):
    """What this process and its children were started with, or know."""
    texts = [repr(dict(os.environ))]
    gc.unfreeze()  # m0serve hides from the collector what was there at the start
    texts += [repr(d["PGListen"]) for d in gc.get_objects()
              if type(d) is dict and "PGListen" in d]
    for name in ("environ", "cmdline"):
        with open("/proc/self/" + name, errors="replace") as own:
            texts.append(own.read())
    texts.append(subprocess.check_output(["cat", "/proc/self/environ"], text=True))
    reading, writing = os.pipe()
    if os.fork() == 0:  # which runs no other program, and keeps this one's memory
        with open("/proc/self/environ", "rb") as own:
            os.write(writing, b"child of fork: " + own.read())
        os._exit(0)
    os.close(writing)
    with open(reading, errors="replace") as pipe:
        texts.append(pipe.read())
    os.wait()
    return "\n".join(texts)


ROUTES = {"/" + view.__name__: view for view in (
    hold, publish, sleep, sql, stream, told, worker)}


def app(environ, start_response):
    """Call the view of the path."""
    q = {k: v[-1] for k, v in parse_qs(environ["QUERY_STRING"], keep_blank_values=True).items()}
    view = ROUTES.get(environ["PATH_INFO"])
    if view is None:
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"no such view\n"]
    body = view(environ, q).encode()
    fields = [("Content-Type", "text/plain; charset=utf-8")]
    if view is stream:
        fields = [("M0-Channel", q["channel"])]
    start_response("200 OK", fields)
    return [body]

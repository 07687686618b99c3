# SPDX-License-Identifier: MIT
"""A WSGI application whose views do to their server what operations have to survive."""

import ctypes
import json
import os
import subprocess
import sys
import time
from urllib.parse import parse_qs

KEPT = []  # memory that a view took for good


def say(what):
    """Tell the test that a view has come so far."""
    print("OPS " + what, flush=True)


def hello(environ, q):
    return b"hello"


def pid(environ, q):
    return b"%d" % os.getpid()


def echo(environ, q):
    """What was posted, read whole."""
    return environ["wsgi.input"].read()


def told(environ, q):
    """The same, and the log shows that the view was called."""
    say("told")
    return echo(environ, q)


def shown(environ, q):
    """The texts and switches of the environ, without what came from the process."""
    return json.dumps({k: v for k, v in environ.items()
                       if isinstance(v, (str, bool))}).encode()


def variable(environ, q):
    return json.dumps(os.environ.get(q["name"])).encode()


def where(environ, q):
    return os.getcwd().encode()


def sleep(environ, q):
    say("sleeps")
    time.sleep(float(q["s"]))
    return b"slept %d" % os.getpid()


def spin(environ, q):
    """Compute, letting other threads run as Python does."""
    say("spins")
    end = time.monotonic() + float(q["s"])
    while time.monotonic() < end:
        pass
    return b"spun"


def hold(environ, q):
    """Wait in C without letting go of the interpreter, as a careless extension does. A
    read, unlike a sleep, goes on behind a signal."""
    reading, writing = os.pipe()
    subprocess.Popen(["sleep", q["s"]], pass_fds=[writing])
    os.close(writing)
    say("holds")
    ctypes.PyDLL(None).read(reading, ctypes.create_string_buffer(1), 1)
    os.close(reading)
    return b"held"


def crash(environ, q):
    """Read address 0 in C."""
    ctypes.string_at(0)
    return b"unharmed"


def grow(environ, q):
    """Take memory and keep it."""
    KEPT.append(bytearray(int(q["mb"]) << 20))
    return b"grown"


def parent(environ, q):
    return b"%d" % os.getppid()


def zombies(environ, q):
    """The processes that ended and that nobody waits for."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % int(name)) as stat:
                if ") Z " in stat.read():
                    found.append(name)
        except (ValueError, OSError):
            pass
    return " ".join(found).encode()


def orphan(environ, q):
    """Leave a child of a child behind, which becomes process 1's when it ends."""
    subprocess.run(["sh", "-c", "sleep 0.05 & exit 0"], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    return b"left"


def stream(environ, q):
    """Pieces with a pause between them."""
    say("streams")
    for n in range(int(q["n"])):
        yield b"piece %d\n" % n
        time.sleep(float(q["s"]))


ROUTES = {"/" + view.__name__: view for view in (
    crash, echo, grow, hello, hold, orphan, parent, pid, shown, sleep, spin, stream, told,
    variable, where, zombies)}


def app(environ, start_response):
    """Call the view of the path."""
    q = {k: v[-1] for k, v in parse_qs(environ["QUERY_STRING"]).items()}
    view = ROUTES.get(environ["PATH_INFO"])
    if view is None:
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"no view " + environ["PATH_INFO"].encode("latin-1")]
    answer = view(environ, q)
    if not isinstance(answer, bytes):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return answer
    start_response("200 OK", [("Content-Type", "text/plain"),
                              ("Content-Length", str(len(answer)))])
    return [answer]


if "OPS_DIES" in os.environ:  # a worker that ends before it is ready
    sys.stdout.flush()
    os.kill(os.getpid(), 9)

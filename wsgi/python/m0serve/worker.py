# SPDX-License-Identifier: MIT
"""Loads the application and serves it until the engine ends."""

import atexit
import importlib
import os
import signal
import sys
import threading
import traceback
from functools import partial
from types import MethodType

EXIT_SECONDS = 5  # bound on what an application does while the process ends
bounds = {"exit": EXIT_SECONDS}

# What the supervisor told this process, which has adopted it: the application and
# its children see none of it.
INHERITED = (
    "M0_WORKER_SPAWNED", "M0_WORKER_INDEX", "M0_WORKER_COUNT", "M0_WORKER_PLACE",
    "M0_WORKER_DUTIES", "M0_LISTEN_FD", "M0_SHARED_ID_FD", "M0_APP_PAGE_FD", "M0_BUS_FDS",
    "M0_BUS_READ_FD", "M0_ACCEPT_FDS", "M0_LIFE_FD", "M0_PUBLISH_FD", "M0_PUBLISH_HTTP_FD",
    "M0_SERVE_OPTIONS", "M0_SERVE_LIBPYTHON", "M0_SERVE_PROGRAM", "M0_SERVE_PYTHON",
)

ATTRIBUTES = ("app", "application")
FACTORIES = ("create_app", "make_app")


def prepare(options):
    """Makes the process what an application expects to be started in."""
    for name in INHERITED:
        os.environ.pop(name, None)
    os.environ.update(options.get("Env") or {})
    if options.get("Chdir"):
        os.chdir(options["Chdir"])
    app = options["App"]
    paths = list(options.get("PythonPath") or [])
    paths.append(os.getcwd())
    while sys.path and sys.path[0] == "":
        del sys.path[0]
    for path in reversed(paths):
        if path in sys.path:
            sys.path.remove(path)
        sys.path.insert(0, path)
    graceful = (options.get("GracefulTimeout") or 0) / 1e9
    if 0 < graceful < EXIT_SECONDS:
        bounds["exit"] = graceful
    sys.argv = ["m0serve", app["Path"] or app["Module"]]


def load(options, import_ours):
    """Returns a function that serves the application."""
    app = find(options["App"])
    kind = options["Interface"]
    if kind == "auto":
        kind = "asgi" if is_asgi(app) else "wsgi"
    protect_signals()
    dump_on_signal(options["Stacks"])
    if kind == "asgi":
        import_ours("channels")
        return import_ours("asgi").server(app, options, finish)
    return import_ours("wsgi").server(app, options, run)


def find(spec):
    """The application that spec names."""
    module = import_app(spec)
    name = spec["Attr"]
    if name:
        target = module
        for part in name.split("."):
            try:
                target = getattr(target, part)
            except AttributeError:
                raise SystemExit(
                    "%s has no %r; it has: %s" % (spec["Module"], name, callables(module))
                )
    else:
        target, is_factory = search(module)
        if target is None:
            raise SystemExit(
                "%s has none of %s; name the application as %s:NAME. It has: %s"
                % (
                    spec["Module"],
                    ", ".join(ATTRIBUTES + FACTORIES),
                    spec["Module"],
                    callables(module),
                )
            )
        if is_factory:
            target = target()
    if spec["Factory"] and name:
        target = eval("make(%s)" % spec.get("Args", ""), {"make": target})
    if not callable(target):
        raise SystemExit("%s:%s is not callable: %r" % (spec["Module"], name, target))
    return target


def import_app(spec):
    try:
        return importlib.import_module(spec["Module"])
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if spec["Module"] != missing and not spec["Module"].startswith(missing + "."):
            raise
        raise SystemExit(
            "there is no module %r in %s: start m0serve in the directory that has it,"
            " or name that with --chdir" % (missing, os.getcwd())
        )


def search(module):
    for name in ATTRIBUTES:
        if callable(getattr(module, name, None)):
            return getattr(module, name), False
    for name in FACTORIES:
        if callable(getattr(module, name, None)):
            return getattr(module, name), True
    return None, False


def callables(module):
    names = [
        name
        for name, value in sorted(vars(module).items())
        if callable(value) and not name.startswith("_") and not isinstance(value, type)
    ]
    return ", ".join(names[:8]) or "nothing callable"


def is_asgi(app):
    """Whether app speaks ASGI; it is never called to find out."""
    if isinstance(app, type):
        return hasattr(app, "__await__")
    return is_coroutine_function(app) or is_coroutine_function(getattr(app, "__call__", None))


CO_COROUTINE = 0x80  # a flag of code objects


def is_coroutine_function(f):
    """What inspect.iscoroutinefunction says. That module and what it imports, the compiler's
    tree among it, would take a megabyte of every worker and 12 ms of its start."""
    while isinstance(f, (MethodType, partial)):
        f = f.func if isinstance(f, partial) else f.__func__
    if getattr(f, "_is_coroutine_marker", None) or getattr(f, "_is_coroutine", None):
        return True
    return bool(getattr(getattr(f, "__code__", None), "co_flags", 0) & CO_COROUTINE)


# The signals that the engine needs. A Python handler would take them away for
# good, and would only run when the main thread next runs bytecode.
PROTECTED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCHLD",
             "SIGPIPE", "SIGURG", "SIGPROF", "SIGSEGV")


def protect_signals():
    """Keeps the application's signal.signal from taking the engine's signals."""
    owner = os.getpid()
    protected = {getattr(signal, name) for name in PROTECTED if hasattr(signal, name)}
    original = signal.signal

    def guarded(signalnum, handler):
        if os.getpid() == owner and signalnum in protected:
            native.log("WARN", "the application's handler for %s is not installed:"
                       " the server needs that signal" % signal.Signals(signalnum).name)
            return signal.getsignal(signalnum)
        return original(signalnum, handler)

    signal.signal = guarded


DUMP_SIGNAL = 40  # the engine sends it to a thread that is stuck


def dump_on_signal(fd):
    """Makes the engine able to show where a thread is stuck: it reads the other end."""
    import faulthandler

    if fd:
        faulthandler.register(DUMP_SIGNAL, file=fd, all_threads=True, chain=False)


def run(threads):
    """Serves on so many threads, the main thread among them, until the end."""
    for number in range(1, threads):
        threading.Thread(target=sit, name="m0serve-%d" % number, daemon=True).start()
    wrong = sit()
    return finish(1 if wrong else 0)


def sit():
    wrong = native.sit()
    if wrong:
        native.log("ERROR", wrong)
    return wrong


def finish(status):
    """Runs what an application registered for the end, within a bound."""
    done = threading.Event()

    def late():
        if not done.wait(bounds["exit"]):
            native.log("WARN", "the application's exit handlers still run after %g s;"
                       " leaving without them" % bounds["exit"])
            os._exit(status)

    threading.Thread(target=late, daemon=True).start()
    try:
        threading._shutdown()
    except BaseException:
        traceback.print_exc()
    try:
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    done.set()
    return status

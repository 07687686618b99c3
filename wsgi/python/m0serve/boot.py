# SPDX-License-Identifier: MIT
"""The life of a worker on the Python side. `native` is the engine's module."""

import gc
import json
import os
import sys
import types

CONFIG = 78  # exit status: nothing but another configuration helps


class Source:
    """Where tracebacks find our lines, should there be one to show."""

    def __init__(self, text):
        self.text = text

    def get_source(self, name):
        return self.text


def import_ours(name):
    """Imports a module of the package m0serve from the engine."""
    full = "m0serve." + name
    if full in sys.modules:
        return sys.modules[full]
    source = native.source(name)
    module = types.ModuleType(full)
    module.__file__ = "<m0serve>/" + name + ".py"
    module.__package__ = "m0serve"
    module.native = native
    module.__loader__ = Source(source)
    sys.modules[full] = module
    exec(compile(source, module.__file__, "exec"), module.__dict__)
    setattr(sys.modules["m0serve"], name, module)
    return module


def package():
    """Makes the package m0serve, unless an installed one is there."""
    if "m0serve" not in sys.modules:
        module = types.ModuleType("m0serve")
        module.__path__ = []
        sys.modules["m0serve"] = module
    sys.modules["m0serve._native"] = native
    native.worker = (os.getpid(), os.environ.get("M0_PUBLISH_SOCKET", ""))  # see m0pub._engine


def main():
    package()
    leave = import_ours("process").leave
    try:
        text = native.options()
        if text is None:
            leave(CONFIG)  # the engine has said why
        options = json.loads(text)
        worker = import_ours("worker")
        worker.prepare(options)
        import_ours("publisher").install()
        serve = worker.load(options, import_ours)
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            leave(error.code or CONFIG)
        print("m0serve: %s" % error.code, file=sys.stderr)
        leave(CONFIG)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        leave(CONFIG)
    # What is loaded stays: the collector need not look at it again for every request.
    gc.collect()
    gc.freeze()
    try:
        status = serve() or native.status()
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    leave(status)


main()

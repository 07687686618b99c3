# SPDX-License-Identifier: MIT
"""What the kinds of applications have in common: how a failure is shown, and how a
process ends."""

import os
import sys
import traceback


def report(error, where):
    """Shows an exception that the application did not handle; where follows "failed"."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    print("m0serve: the application failed%s\n%s" % (where, text), end="", file=sys.stderr,
          flush=True)


def leave(status):
    """Ends the process. The interpreter is never finalized: threads that come
    back from C while it goes away crash."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    os._exit(status)


def leave_child(error):
    """Ends a child of fork that comes back from the application: it serves nothing.
    error is what it came back with, None when it returned."""
    status = 1
    if isinstance(error, SystemExit):
        status = 0 if error.code is None else error.code if isinstance(error.code, int) else 1
    elif error is None:
        print("m0serve: a forked child returned from the application; it ends here,"
              " and its parent answers", file=sys.stderr)
    leave(status & 0xFF)

# SPDX-License-Identifier: MIT
"""Starts the command m0serve, which lies in this package beside its engine.

The command takes the place of this process: no Python stays as its parent, so
signals and exit statuses are those of the command. It is told which interpreter
it was installed for, and serves with that one unless another is chosen.
"""

import os
import signal
import sys

CONFIG = 78  # exit status: nothing but another configuration helps

COMMAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "m0serve")


def main():
    """Becomes the command; returns only when there is none."""
    env = dict(os.environ)
    if sys.executable:
        env["M0_SERVE_PYTHON"] = sys.executable
    # Python ignores these, and what is ignored stays so in a new program.
    for name in ("SIGPIPE", "SIGXFSZ"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execve(COMMAND, ["m0serve"] + sys.argv[1:], env)
    except OSError as error:
        print("m0serve: %s: %s; install it again: %s -m pip install --force-reinstall m0serve"
              % (COMMAND, error.strerror, sys.executable or "python3"), file=sys.stderr)
    return CONFIG

# SPDX-License-Identifier: MIT
"""Serves a WSGI application (PEP 3333)."""

import io
import os
import stat
import sys

from m0serve import process

CONFIG = 78  # exit status: there is no service to be had, and no sense in another try


def server(app, options, run):
    """Returns a function that serves app until the engine ends."""
    if options.get("Validate"):
        from wsgiref.validate import validator

        app = validator(app)

    def serve():
        wrong = native.start("wsgi", app, base(options), report, Input, FileWrapper)
        if wrong:
            print("m0serve: %s" % wrong, file=sys.stderr)
            return CONFIG
        return run(options["Threads"])

    return serve


def base(options):
    """What every environ has."""
    bind = (options.get("Binds") or [{}])[0].get("Address", "")
    host, _, port = bind.rpartition(":")
    return {
        "SCRIPT_NAME": options.get("RootPath") or "",
        "SERVER_NAME": host.strip("[]") or "localhost",
        "SERVER_PORT": port if port.isdigit() else "80",
        "SERVER_SOFTWARE": "m0serve",
        "wsgi.version": (1, 0),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": options["Threads"] > 1,
        "wsgi.multiprocess": options["Workers"] > 1,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
        "wsgi.file_wrapper": FileWrapper,
    }


OWNER = os.getpid()


def report(error, environ):
    """Shows an exception that the application did not handle."""
    if os.getpid() != OWNER and (error is None or isinstance(error, SystemExit)):
        process.leave_child(error)
    where = ""
    if environ:
        where = " in %s %s" % (environ.get("REQUEST_METHOD"), environ.get("REQUEST_URI"))
    process.report(error, where)
    if os.getpid() != OWNER:
        process.leave_child(error)


class FileWrapper:
    """wsgi.file_wrapper: iterates over a file in blocks, from where it stands."""

    def __init__(self, filelike, blksize=65536):
        self.filelike = filelike
        self.blksize = blksize
        if hasattr(filelike, "close"):
            self.close = filelike.close

    def region(self):
        """Descriptor and position, if this is a regular file: the engine sends
        the rest of it then, and nothing is read here."""
        if isinstance(self.filelike, io.TextIOBase):
            return None
        try:
            fd = self.filelike.fileno()
            if stat.S_ISREG(os.fstat(fd).st_mode):
                return fd, self.filelike.tell()
        except (AttributeError, OSError, ValueError):
            pass
        return None

    def __iter__(self):
        return self

    def __next__(self):
        data = self.filelike.read(self.blksize)
        if data:
            return data
        raise StopIteration


class Input(io.RawIOBase):
    """wsgi.input of a body that was not read ahead."""

    def __new__(cls, token):
        raw = super().__new__(cls)
        raw.token = token
        return io.BufferedReader(raw, 65536)

    def readable(self):
        return True

    def readinto(self, buffer):
        data = native.read(self.token, len(buffer))
        buffer[: len(data)] = data
        return len(data)

# SPDX-License-Identifier: MIT
"""Finds the publish socket of the service that is meant."""

from __future__ import annotations

import hashlib
import os
import socket
import stat
import sys

from ._errors import NobodyListens

ENV = "M0_PUBLISH_SOCKET"
HOMES = "/tmp"  # the same for a shell, a cron job and a system unit
LEFT = ".old"  # beside the path of a service that is leaving

# The cure for most of it.
START = (
    "Start the service (m0serve) in that directory as this user,"
    f" or set {ENV} to its publish socket."
)


def place(directory: str) -> str:
    """The directory that holds the sockets of the services that run in `directory`."""
    real = os.fsencode(os.path.realpath(directory))
    return os.path.join(home(), hashlib.sha256(real).hexdigest()[:16])


def home() -> str:
    return os.path.join(HOMES, "m0-%d" % os.geteuid())


def candidates() -> list[str]:
    """The sockets that may be meant, best first. NobodyListens where there is none."""
    if not hasattr(socket, "AF_UNIX"):
        raise NobodyListens("m0pub: this system has no unix sockets", "")
    told = os.environ.get(ENV, "")
    if told == "off":
        raise NobodyListens(f"m0pub: {ENV} is off: this service has no publish socket", told)
    if told:
        return [told, told + LEFT]
    places = [place(d) for d in directories()]
    if os.path.lexists(home()):
        check_home()
    for where in places:
        found = sockets(where)
        if found:
            return found
    looked = " or ".join(directories())
    raise NobodyListens(
        f"m0pub: nobody listens: no service of this user runs in {looked}"
        f" (there is no socket in {' or '.join(places)}). {START}",
        places[0],
    )


def directories() -> list[str]:
    """Where the service may have been started: here, or where this script lies."""
    found = [os.getcwd()]
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None)
    if script and getattr(main, "__spec__", None) is None:  # not run by -m
        directory = os.path.dirname(os.path.realpath(script))
        if directory != os.path.realpath(found[0]):
            found.append(directory)
    return found


def sockets(directory: str) -> list[str]:
    """The sockets in a directory, dead ones included."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return []
    paths = [os.path.join(directory, name) for name in names if name.endswith(".sock")]
    return [p for p in paths if _is_socket(p)]


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def check_home() -> None:
    """Refuses a directory that somebody else made: they would read what is published."""
    info = os.lstat(home())
    mine = stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid()
    if not mine or info.st_mode & 0o077:
        raise NobodyListens(
            f"m0pub: {home()} is not this user's alone, so what is in it is not trusted."
            f" Remove it, or set {ENV}.",
            home(),
        )

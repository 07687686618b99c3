# SPDX-License-Identifier: MIT
#
# Says what this interpreter is, as one line of JSON. Runs on every Python from 2.7
# on, so that an old one can be named; and beside any application, since the working
# directory is taken off the path first.
import sys

sys.path[:] = [path for path in sys.path if path not in ("", ".")]
sys.dont_write_bytecode = True

import json
import os
import platform
import struct
import sysconfig

DISTRIBUTIONS = ("django", "flask", "fastapi", "starlette", "uvloop", "asgiref")


def has_ctypes():
    try:
        import ctypes

        ctypes.pythonapi
    except Exception:
        return False
    return True


def packages():
    try:
        from importlib import metadata
    except ImportError:
        return {}
    found = {}
    for name in DISTRIBUTIONS:
        try:
            found[name] = metadata.version(name)
        except Exception:
            pass
    return found


def libraries():
    """Files that may be the interpreter as a shared library, best first."""
    get = sysconfig.get_config_var
    base = getattr(sys, "base_prefix", sys.prefix)
    names = [get("INSTSONAME"), get("LDLIBRARY")]
    places = [get("LIBDIR"), os.path.join(base, "lib"), get("LIBPL")]
    if get("MULTIARCH"):
        places.append(os.path.join("/usr/lib", get("MULTIARCH")))
    if get("PYTHONFRAMEWORKPREFIX"):
        places.append(get("PYTHONFRAMEWORKPREFIX"))
    places.extend(["/usr/lib64", "/usr/lib"])
    found = []
    for place in places:
        for name in names:
            if place and name and not name.endswith(".a"):
                path = os.path.join(place, name)
                if path not in found:
                    found.append(path)
    return found


sys.stdout.write(
    "\n%s %s\n"
    % (
        sys.argv[1],
        json.dumps(
            {
                "Executable": sys.executable,
                "Implementation": platform.python_implementation(),
                "Version": platform.python_version(),
                "Major": sys.version_info[0],
                "Minor": sys.version_info[1],
                "Prefix": sys.prefix,
                "BasePrefix": getattr(sys, "base_prefix", sys.prefix),
                "FreeThreaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
                "ABI": sysconfig.get_config_var("SOABI") or "",
                "Bits": struct.calcsize("P") * 8,
                "Ctypes": has_ctypes(),
                "Libraries": libraries(),
                "LibraryName": sysconfig.get_config_var("INSTSONAME") or "",
                "Packages": packages(),
            }
        ),
    )
)

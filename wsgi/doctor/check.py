# SPDX-License-Identifier: MIT
#
# Imports the application as a worker does and says what it found, as one line of
# JSON on the real standard output. Standard input has the request: the source of
# the workers' own module, the options, and the marker of the answer.
import json
import os
import sys
import sysconfig
import time
import traceback
import types

PROJECTS = (  # the module that a framework's applications live in, its name, its distribution
    ("django", "Django", "django"),
    ("fastapi", "FastAPI", "fastapi"),
    ("flask", "Flask", "flask"),
    ("litestar", "Litestar", "litestar"),
    ("quart", "Quart", "quart"),
    ("falcon", "Falcon", "falcon"),
    ("pyramid", "Pyramid", "pyramid"),
    ("bottle", "Bottle", "bottle"),
    ("channels", "Channels", "channels"),
    ("starlette", "Starlette", "starlette"),
)


def framework(app):
    """The framework by the type of the application, or by what it has loaded."""
    root = (type(app).__module__ or "").partition(".")[0]
    for module, name, distribution in PROJECTS:
        if module == root:
            return name, version(distribution)
    for module, name, distribution in PROJECTS:
        if module in sys.modules:
            return name, version(distribution)
    return "", ""


def version(distribution):
    try:
        from importlib import metadata

        return metadata.version(distribution)
    except Exception:
        return ""


def django_debug():
    conf = sys.modules.get("django.conf")
    try:
        return bool(conf and conf.settings.configured and conf.settings.DEBUG)
    except Exception:
        return False


def is_own(filename):
    """Whether a frame is the user's own code: not Python's, a package's or ours."""
    if not filename or filename.startswith("<"):
        return False
    path = os.path.realpath(filename)
    for name in ("stdlib", "platstdlib", "purelib", "platlib"):
        place = sysconfig.get_paths().get(name)
        if place and path.startswith(os.path.realpath(place) + os.sep):
            return False
    return "site-packages" not in path and "dist-packages" not in path


def describe(error):
    """The error, the last frame of the user's own code, and the traceback."""
    answer = {
        "Type": type(error).__name__,
        "Message": str(error),
        "Trace": "".join(traceback.format_exception(type(error), error, error.__traceback__)),
    }
    if isinstance(error, ModuleNotFoundError):
        answer["Missing"] = error.name or ""
    for frame in traceback.extract_tb(error.__traceback__):
        if is_own(frame.filename):
            answer.update(
                File=frame.filename, Line=frame.lineno, Function=frame.name, Text=frame.line or ""
            )
    if isinstance(error, SyntaxError) and error.filename:
        answer.update(
            File=error.filename,
            Line=error.lineno or 0,
            Function="",
            Text=(error.text or "").strip(),
            Message=error.msg,
        )
    return answer


def examine(request):
    worker = types.ModuleType("m0serve_doctor_worker")
    exec(compile(request["Worker"], "<m0serve>/worker.py", "exec"), worker.__dict__)
    options = request["Options"]
    began = time.monotonic()
    worker.prepare(options)
    app = worker.find(options["App"])
    name, its_version = framework(app)
    return {
        "Interface": "asgi" if worker.is_asgi(app) else "wsgi",
        "Class": type(app).__module__ + "." + type(app).__qualname__,
        "Framework": name,
        "FrameworkVersion": its_version,
        "Seconds": time.monotonic() - began,
        "DjangoDebug": django_debug(),
    }


def main():
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    request = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    try:
        answer = examine(request)
    except SystemExit as error:
        answer = describe(error)
        answer["Exit"] = True
    except BaseException as error:
        answer = describe(error)
    out.write("\n%s %s\n" % (request["Marker"], json.dumps(answer)))
    out.flush()
    os._exit(0)


main()

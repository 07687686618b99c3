# SPDX-License-Identifier: MIT
"""The environ: what it holds, of which types, and that it belongs to one request."""

import sys

from bare.kit import as_json, noted, text

HELLO = [("Content-Type", "text/plain"), ("Content-Length", "5")]


def hello(environ, start_response, q):
    start_response("200 OK", HELLO)
    return [b"hello"]


def dump(environ, start_response, q):
    """Show every entry, those that JSON has no word for by their type.

    The target as it was sent has a different name in each server.
    """
    plain = (str, int, bool, tuple, type(None))
    shown = {
        key: value if isinstance(value, plain) else "<%s>" % type(value).__name__
        for key, value in environ.items()}
    shown["target"] = environ.get("REQUEST_URI", environ.get("RAW_URI"))
    return as_json(start_response, shown)


def types(environ, start_response, q):
    """Show what is of a wrong type or holds more than latin-1, and what streams lack."""
    wrong = []
    if type(environ) is not dict:
        wrong.append("environ is a %s" % type(environ).__name__)
    for key, value in environ.items():
        if type(key) is not str:
            wrong.append("the key %r" % (key,))
        elif "." not in key and type(value) is not str:
            wrong.append("%s is a %s" % (key, type(value).__name__))
        elif type(value) is str and any(ord(c) > 255 for c in value):
            wrong.append("%s is not latin-1" % key)
    for stream, methods in (
            ("wsgi.input", "read readline readlines __iter__"),
            ("wsgi.errors", "write writelines flush")):
        for method in methods.split():
            if not callable(getattr(environ[stream], method, None)):
                wrong.append("%s has no %s" % (stream, method))
    for key in "multithread multiprocess run_once".split():
        if type(environ["wsgi." + key]) is not bool:
            wrong.append("wsgi.%s is no bool" % key)
    return as_json(start_response, wrong)


def spoil(environ, start_response, q):
    """Leave nothing of the environ, which the next request must not notice."""
    environ.clear()
    environ["BARE_SPOILED"] = "yes"
    return text(start_response, "spoiled")


def errors(environ, start_response, q):
    stream = environ["wsgi.errors"]
    stream.write("BARE write %s\n" % q("text"))
    stream.writelines(["BARE writelines %s\n" % q("text"), "BARE second %s\n" % q("text")])
    stream.flush()
    print("BARE print %s" % q("text"), flush=True)
    print("BARE stderr %s" % q("text"), file=sys.stderr, flush=True)
    return text(start_response, "written")


def events(environ, start_response, q):
    return as_json(start_response, noted(q("id")))


def canary(environ, start_response, q):
    """Read without a size: allowed by PEP 3333, an error under wsgiref.validate."""
    environ["wsgi.input"].read()
    return text(start_response, "not validated")


ROUTES = {
    "/": hello,
    "/hello": hello,
    "/environ": dump,
    "/environ/types": types,
    "/environ/spoil": spoil,
    "/errors": errors,
    "/events": events,
    "/pep3333/canary": canary,
}

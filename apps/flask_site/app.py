# SPDX-License-Identifier: MIT
"""A small Flask site, held to the contract of django_site."""

import hashlib
import io
import logging
import os
import secrets
import sqlite3
import threading
import time

from flask import (
    Flask, Response, abort, g, jsonify, make_response, redirect, render_template, request,
    send_file, session)

DATABASE = os.environ.get("SITE_DB", os.path.join(os.path.dirname(__file__), "site.sqlite3"))

app = Flask(__name__)
app.secret_key = os.environ.get("SITE_SECRET", "for tests alone")
app.json.sort_keys = True
logging.basicConfig(level=logging.ERROR)

_local = threading.local()


def database():
    """The connection of this thread, which lives as long as the thread."""
    if not hasattr(_local, "db"):
        _local.db = sqlite3.connect(DATABASE, timeout=20)
    return _local.db


with database() as db:
    db.execute("CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")


def texts():
    return [text for (text,) in database().execute("SELECT text FROM note ORDER BY id")]


def plain(content, status=200):
    return Response(content, status, content_type="text/plain; charset=utf-8")


@app.before_request
def check_token():
    """Refuse a form without the token of its session."""
    if request.method == "POST" and request.path == "/notes":
        token = session.get("token")
        if not token or not secrets.compare_digest(
                token, request.form.get("csrfmiddlewaretoken", "")):
            abort(403)


@app.get("/")
def page():
    g.token = session.setdefault("token", secrets.token_hex(16))
    return render_template("page.html", notes=texts())


@app.post("/notes")
def add():
    text = request.form.get("text", "").strip()
    if not text or len(text) > 200:
        return plain("the text is missing or too long", 400)
    with database() as db:
        db.execute("INSERT INTO note (text) VALUES (?)", (text,))
    return redirect("/")


@app.get("/notes.json")
def notes_json():
    return jsonify(notes=texts())


@app.get("/hello")
def hello():
    return Response("hello", content_type="text/plain")


@app.get("/table")
def table():
    """About 10 KB of HTML from a template."""
    return render_template("table.html", rows=range(100))


@app.route("/request", methods=["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def request_json():
    return jsonify(
        method=request.method, path=request.path, query=request.environ["QUERY_STRING"],
        host=request.host, scheme=request.scheme, remote=request.remote_addr,
        language=request.headers.get("Accept-Language"), secure=request.is_secure,
        url=request.url)


@app.post("/sum")
def sum_json():
    try:
        return jsonify(sum=sum(request.get_json(force=True, silent=True)["numbers"]))
    except (KeyError, TypeError):
        return make_response(jsonify(error="numbers are missing"), 400)


@app.post("/echo")
def echo():
    return Response(request.get_data(), content_type="application/octet-stream")


@app.post("/upload")
def upload():
    f = request.files["file"]
    content = f.read()
    return jsonify(name=f.filename, size=len(content),
                   sha256=hashlib.sha256(content).hexdigest(), note=request.form["note"])


@app.get("/path/<name>")
def named(name):
    return plain(name)


@app.get("/search")
def search():
    return jsonify(q=request.args.getlist("q"))


@app.get("/stream")
def stream():
    def produce():
        for i in range(5):
            if i:
                time.sleep(0.01)
            yield "line %d\n" % i

    return Response(produce(), content_type="text/plain")


@app.get("/download")
def download():
    content = io.BytesIO(b"0123456789abcdef" * 20_000)
    return send_file(content, as_attachment=True, download_name="data.bin")


@app.get("/etag")
def etagged():
    answer = plain("tagged")
    answer.set_etag("v1")
    return answer.make_conditional(request)


@app.get("/count")
def count():
    session["count"] = session.get("count", 0) + 1
    return plain(str(session["count"]))


@app.get("/cookies")
def cookies():
    answer = plain(request.cookies.get("seen", "new"))
    answer.set_cookie("seen", "before", httponly=True)
    answer.set_cookie("other", "b c")
    return answer


@app.get("/empty")
def empty():
    answer = Response(status=204)
    del answer.headers["Content-Type"]  # of what is not there
    return answer


@app.get("/redirect")
def redirected():
    return redirect("/search?q=%C3%BC")


@app.get("/error")
def error():
    raise RuntimeError("SITE failure")


@app.get("/slow")
def slow():
    time.sleep(request.args.get("ms", type=int) / 1000)
    return plain("slow")


@app.get("/connection")
def connection_id():
    """Say which thread of which process this is, and which connection it has."""
    return jsonify(pid=os.getpid(), thread=threading.get_ident(), connection=id(database()))

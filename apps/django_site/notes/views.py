# SPDX-License-Identifier: MIT
"""The views of the contract that django_site and flask_site share."""

import hashlib
import json
import os
import tempfile
import threading
import time

from django.db import connection
from django.http import (
    FileResponse, HttpResponse, HttpResponseRedirect, JsonResponse, StreamingHttpResponse)
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST, require_safe

from .forms import NoteForm
from .models import Note


@require_safe
def page(request):
    return render(request, "notes/page.html", {"form": NoteForm(), "notes": Note.objects.all()})


@require_POST
def add(request):
    form = NoteForm(request.POST)
    if not form.is_valid():
        return HttpResponse("the text is missing or too long", status=400)
    Note.objects.create(text=form.cleaned_data["text"])
    return HttpResponseRedirect("/")


@require_safe
def notes_json(request):
    return JsonResponse({"notes": list(Note.objects.values_list("text", flat=True))})


@csrf_exempt
@require_safe
def hello(request):
    return HttpResponse("hello", content_type="text/plain")


@require_safe
def table(request):
    """About 10 KB of HTML from a template."""
    return render(request, "notes/table.html", {"rows": range(100)})


@csrf_exempt
def request_json(request):
    return JsonResponse({
        "method": request.method, "path": request.path, "query": request.META["QUERY_STRING"],
        "host": request.get_host(), "scheme": request.scheme,
        "remote": request.META["REMOTE_ADDR"], "language": request.headers.get("Accept-Language"),
        "secure": request.is_secure(), "url": request.build_absolute_uri(),
    })


@csrf_exempt
@require_POST
def sum_json(request):
    try:
        return JsonResponse({"sum": sum(json.loads(request.body)["numbers"])})
    except (ValueError, KeyError, TypeError):
        return JsonResponse({"error": "numbers are missing"}, status=400)


@csrf_exempt
@require_POST
def echo(request):
    return HttpResponse(request.body, content_type="application/octet-stream")


@csrf_exempt
@require_POST
def upload(request):
    f = request.FILES["file"]
    sha = hashlib.sha256()
    for piece in f.chunks():
        sha.update(piece)
    return JsonResponse({
        "name": f.name, "size": f.size, "sha256": sha.hexdigest(), "note": request.POST["note"]})


@require_safe
def named(request, name):
    return HttpResponse(name, content_type="text/plain; charset=utf-8")


@require_safe
def search(request):
    return JsonResponse({"q": request.GET.getlist("q")})


@csrf_exempt
@require_safe
def stream(request):
    def produce():
        for i in range(5):
            if i:
                time.sleep(0.01)
            yield "line %d\n" % i

    return StreamingHttpResponse(produce(), content_type="text/plain")


@require_safe
def download(request):
    f = tempfile.TemporaryFile()
    f.write(b"0123456789abcdef" * 20_000)
    f.seek(0)
    return FileResponse(f, as_attachment=True, filename="data.bin")


@require_safe
def etagged(request):
    answer = HttpResponse("tagged", content_type="text/plain")
    answer["ETag"] = '"v1"'
    return answer


@require_safe
def count(request):
    request.session["count"] = request.session.get("count", 0) + 1
    return HttpResponse(str(request.session["count"]), content_type="text/plain")


@require_safe
def cookies(request):
    answer = HttpResponse(request.COOKIES.get("seen", "new"), content_type="text/plain")
    answer.set_cookie("seen", "before", httponly=True)
    answer.set_cookie("other", "b c")
    return answer


@require_safe
def empty(request):
    answer = HttpResponse(status=204)
    del answer["Content-Type"]  # of what is not there
    return answer


@require_safe
def redirect(request):
    return HttpResponseRedirect("/search?q=%C3%BC")


@require_safe
def error(request):
    raise RuntimeError("SITE failure")


@require_GET
def slow(request):
    time.sleep(int(request.GET["ms"]) / 1000)
    return HttpResponse("slow", content_type="text/plain")


@require_safe
def connection_id(request):
    """Say which thread of which process this is, and which connection it has."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM notes_note")
    return JsonResponse({
        "pid": os.getpid(), "thread": threading.get_ident(),
        "connection": id(connection.connection)})

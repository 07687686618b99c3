# SPDX-License-Identifier: MIT
"""The board. Everything that makes it live is in this file: look for m0pub and M0-Hold."""

import logging
import subprocess
import sys
import uuid

import m0pub
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from .forms import CommentForm
from .models import Comment, Job, Tab


@require_safe
def events(request):
    """The stream: an ordinary answer, which the server keeps open. No thread waits here."""
    return HttpResponse(headers={"M0-Hold": "stream", "M0-Channel": "board"})


def tell(event, data):
    """Sends data to every page that is open, whichever process it is connected to."""
    try:
        m0pub.publish("board", data, event=event)
    except m0pub.PublishError as error:  # under runserver, say: a reload shows it all the same
        logging.getLogger(__name__).warning("%s", error)


@require_POST
def comment(request):
    form = CommentForm(request.POST)
    if not form.is_valid():
        return show(request, form, status=422)
    request.session["author"] = form.cleaned_data["author"]
    tell("comment", render_to_string("board/comment.html", {"comment": form.save()}))
    return redirect("page")


@require_POST
def wave(request):
    tell("notice", request.session.get("author", "Somebody") + " waves at you")
    return redirect("page")


@require_POST
def job(request):
    """Starts `manage.py longjob`: another process, which tells how far it is by itself."""
    if job := Job.begin():
        tell("job", render_to_string("board/job.html", {"job": job}))
        command = [sys.executable, "manage.py", "longjob", "--job", str(job.pk)]
        subprocess.Popen(command, cwd=settings.BASE_DIR)
    return redirect("page")


@require_POST
def here(request):
    """Presence: a page says that it is open, every ten seconds. One that is silent is gone."""
    try:
        count, news = Tab.seen(uuid.UUID(request.POST.get("tab")), "leaving" in request.POST)
    except (TypeError, ValueError):
        return HttpResponse("which tab?", status=400)
    if news:
        tell("presence", str(count))
    return HttpResponse(str(count))


@never_cache
@require_safe
def page(request):
    return show(request, CommentForm(initial={"author": request.session.get("author", "")}))


def show(request, form, status=200):
    return render(request, "board/page.html", {
        "form": form, "comments": Comment.objects.all()[:100], "job": Job.objects.last(),
        "present": Tab.objects.count(), "tab": uuid.uuid4(), "beat": settings.BOARD_BEAT_SECONDS,
    }, status=status)

# SPDX-License-Identifier: MIT
"""Events: sending them, and who may read them. All views are synchronous."""

import json
import threading

from django.contrib.auth import get_user_model
from django.contrib.auth import login as auth_login
from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST
from django_eventstream import (
    channel_permission_changed,
    get_current_event_id,
    send_event,
)
from django_eventstream.utils import get_storage
from django_eventstream.views import get_listener_manager
from django_grip import publish
from gripcontrol import HttpResponseFormat, HttpStreamFormat, WebSocketMessageFormat
from live.models import Note, Permission


def page(request):
    return render(request, "live/page.html", {"channel": request.GET.get("channel", "test")})


def texts(form):
    """What a form wants to be sent: data as it is, or count numbers of a size."""
    if "count" not in form:
        return [form.get("data", "")]
    first = int(form.get("first", 1))
    pad = "x" * int(form.get("size", 0))
    return [f"{n} {pad}".rstrip() for n in range(first, first + int(form["count"]))]


@require_POST
def send(request):
    """send_event, and the view waits until it is out unless asked not to."""
    form = request.POST
    for text in texts(form):
        send_event(
            form["channel"],
            form.get("type", "message"),
            text,
            skip_user_ids=form.getlist("skip") or None,
            async_publish=form.get("async") == "1",
            json_encode=form.get("json") == "1",
        )
    return HttpResponse("sent\n")


@require_POST
def store(request):
    """Events that are stored and never published, as when a process dies between."""
    for text in texts(request.POST):
        get_storage().append_event(request.POST["channel"], "message", text)
    return HttpResponse("stored\n")


def current(request):
    return HttpResponse(get_current_event_id(request.GET.getlist("channel")))


def listeners(request):
    """How many streams django-eventstream holds by itself, here in this process."""
    return JsonResponse({"listeners": len(get_listener_manager().listeners_by_channel)})


@require_POST
def login(request):
    user, _ = get_user_model().objects.get_or_create(username=request.POST["name"])
    auth_login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return HttpResponse(str(user.pk))


@require_POST
def permit(request):
    """Lets a user ("" is everybody without a name) read a channel, or no more."""
    name, channel = request.POST["name"], request.POST["channel"]
    user = get_user_model().objects.get(username=name) if name else None
    row = {"user_id": str(user.pk) if user else "anonymous", "channel": channel}
    if request.POST["allow"] == "1":
        Permission.objects.get_or_create(**row)
    else:
        Permission.objects.filter(**row).delete()
    channel_permission_changed(user, channel)
    return HttpResponse("changed\n")


def grip(request):
    """What django-grip makes of the request."""
    from django.conf import settings

    return JsonResponse({
        "proxied": request.grip.proxied,
        "signed": request.grip.signed,
        "features": sorted(request.grip.features),
        "last": request.grip.last,
        "url": settings.GRIP_URL,
        "fields": sorted(k for k in request.META if k.startswith(("HTTP_GRIP", "HTTP_M0"))),
    })


def log(request):
    """What was noted of a topic."""
    notes = Note.objects.filter(topic=request.GET["topic"])
    return JsonResponse({"notes": [note.text for note in notes]})


def formats(form):
    """The formats of an item, each named by a field of the form."""
    found = []
    if "response" in form:
        headers = json.loads(form.get("headers", "null"))
        found.append(HttpResponseFormat(
            code=int(form.get("code", 200)), reason=form.get("reason"), headers=headers,
            body=form["response"]))
    if "stream" in form:
        found.append(HttpStreamFormat(form["stream"]))
    if "close-stream" in form:
        found.append(HttpStreamFormat(close=True))
    if "message" in form:
        found.append(WebSocketMessageFormat(form["message"]))
    if "binary" in form:
        found.append(WebSocketMessageFormat(bytes.fromhex(form["binary"]), binary=True))
    if "close-socket" in form:
        found.append(WebSocketMessageFormat(action="close", code=int(form["close-socket"])))
    return found


@require_POST
def publish_item(request):
    """django_grip.publish, which waits for the answer unless asked to go on: then
    the view waits for all of them together."""
    form = request.POST
    args = {
        "id": form.get("id"), "prev_id": form.get("prev"),
        "meta": json.loads(form.get("meta", "{}")),
    }
    if "count" not in form:
        publish(form["channel"], formats(form), blocking=True, **args)
        return HttpResponse("published\n")
    left, done, failures = int(form["count"]), threading.Event(), []

    def published(ok, why):
        nonlocal left
        left -= 1
        if not ok:
            failures.append(why)
        if left == 0:
            done.set()

    for text in texts(form):
        publish(form["channel"], HttpStreamFormat(text + "\n"), callback=published)
    if not done.wait(30) or failures:
        return HttpResponse(f"{left} left: {failures[:1]}", status=500)
    return HttpResponse("published\n")

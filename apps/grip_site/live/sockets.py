# SPDX-License-Identifier: MIT
"""WebSockets of synchronous views: django-grip's WebSocketContext."""

import json

from django.http import HttpResponse, HttpResponseForbidden
from django_grip import publish, websocket_only
from gripcontrol import WebSocketMessageFormat
from live.models import Note


def note(topic, text):
    Note.objects.create(topic=topic, text=text)


def received(ws, topic=""):
    """The messages of a request; the end is answered and noted."""
    while ws.can_recv():
        try:
            message = ws.recv()
        except OSError:
            note(topic, "disconnected")
            return
        if message is None:
            note(topic, f"closed {ws.close_code}")
            ws.close(ws.close_code)
            return
        yield message


@websocket_only
def echo(request):
    """Says back what it is told, as text or as bytes."""
    ws = request.wscontext
    if ws.is_opening():
        ws.accept()
    for message in received(ws, request.GET.get("topic", "")):
        if isinstance(message, bytes):
            ws.send_binary(message)
        else:
            ws.send(message)


@websocket_only
def room(request):
    """The example of django-grip: everybody hears what anybody says."""
    ws, name = request.wscontext, request.GET["room"]
    if ws.is_opening():
        ws.accept()
        ws.subscribe(name)
    for message in received(ws):
        publish(name, WebSocketMessageFormat(message), blocking=True)


def refused(request):
    return HttpResponseForbidden("not you\n")


@websocket_only
def counted(request):
    """Counts its messages in what the proxy keeps for the connection."""
    ws = request.wscontext
    if ws.is_opening():
        ws.accept()
        ws.meta["count"] = "0"
    for _ in received(ws):
        ws.meta["count"] = str(int(ws.meta["count"]) + 1)
        ws.send(f"{ws.meta['count']} of {ws.id}")


def obey(ws, order):
    """Does one thing that a message asks for."""
    what, value = order["do"], order.get("value")
    if what == "close":
        ws.close(value)
    elif what == "control":
        ws.send_control(json.dumps(value))
    else:
        {"send": ws.send, "subscribe": ws.subscribe, "unsubscribe": ws.unsubscribe}[what](value)


@websocket_only
def driven(request):
    """Does what its messages say, one list of orders each, and notes each."""
    ws, topic = request.wscontext, request.GET.get("topic", "")
    if ws.is_opening():
        ws.accept()
    for message in received(ws, topic):
        note(topic, message[:200])
        for order in json.loads(message):
            if order["do"] == "fail":
                return HttpResponse("failed\n", status=500)
            if order["do"] == "detach":
                ws.detach()
            else:
                obey(ws, order)

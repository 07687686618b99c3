# SPDX-License-Identifier: MIT
"""The contract of the framework applications, in Django by ASGI, with consumers of Channels."""

import asyncio
import gc
import contextvars
import json
import os
import threading

import django
from django.conf import settings
from django.http import (FileResponse, HttpResponse, HttpResponseRedirect, JsonResponse,
                         StreamingHttpResponse)

HERE = os.path.dirname(os.path.abspath(__file__))

settings.configure(
    DEBUG=False, SECRET_KEY="of a test", ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__,
    MIDDLEWARE=[__name__ + ".Stamp"], INSTALLED_APPS=["channels"],
    CHANNEL_LAYERS={"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}},
)
django.setup()

from asgiref.sync import async_to_sync  # noqa: E402
from channels.generic.http import AsyncHttpConsumer  # noqa: E402
from channels.generic.websocket import (AsyncJsonWebsocketConsumer,  # noqa: E402
                                        AsyncWebsocketConsumer, WebsocketConsumer)
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402
from django.urls import path, re_path  # noqa: E402

from suite import EVENTS, note  # noqa: E402

WHO = contextvars.ContextVar("who", default="nobody")


class Stamp:
    """Middleware: a header on every answer, and a context variable for the request."""

    async_capable = True
    sync_capable = False

    def __init__(self, get_response):
        self.get_response = get_response
        from asgiref.sync import markcoroutinefunction

        markcoroutinefunction(self)

    async def __call__(self, request):
        WHO.set(request.headers.get("X-Who", ""))
        answer = await self.get_response(request)
        answer["X-Stamp"] = "django"
        return answer


async def hello(request):
    return HttpResponse("hello, world", content_type="text/plain")


async def item(request, id):
    return JsonResponse({"id": id, "q": request.GET.get("q")})


def form(request):
    return JsonResponse(request.POST.dict())


def upload(request):
    file = request.FILES["file"]
    return JsonResponse({"name": file.name, "size": len(file.read())})


async def echo_json(request):
    try:
        value = json.loads(request.body)
        return JsonResponse({"name": value["name"], "age": int(value["age"])})
    except (ValueError, KeyError):
        return JsonResponse({"detail": "name and age are wanted"}, status=422)


def body(request):
    total = 0
    while part := request.read(65536):
        total += len(part)
    return JsonResponse({"size": total})


async def stream(request):
    async def parts():
        for i in range(100):
            yield "part %d\n" % i
            await asyncio.sleep(0)

    return StreamingHttpResponse(parts(), content_type="text/plain")


async def events(request):
    query = request.GET

    async def ticks():
        try:
            for i in range(100_000):
                yield "id: %d\ndata: tick%s\n\n" % (i, "." * int(query.get("size", "0")))
                await asyncio.sleep(float(query.get("pause", "0.01")))
        finally:
            gc.enable()
            note(query.get("t", ""), "left")

    if "keep" in query:
        gc.disable()  # cleanup has to come without the collector
    return StreamingHttpResponse(ticks(), content_type="text/event-stream")


async def notes(request):
    return JsonResponse(EVENTS.get(request.GET["t"], []), safe=False)


def file(request):
    name = os.path.join(HERE, "testdata", "poem.txt")
    return FileResponse(open(name, "rb"), filename="poem.txt", as_attachment=True)


async def cookie(request):
    answer = HttpResponse(request.COOKIES.get("seen", "no"))
    answer.set_cookie("seen", "yes", httponly=True)
    answer.set_cookie("two", "2")
    return answer


async def moved(request):
    answer = HttpResponseRedirect("/hello")
    answer.status_code = 307
    return answer


async def fail(request):
    raise RuntimeError("meant to fail")


async def background(request):
    TASKS.append(asyncio.ensure_future(later(request.GET["t"])))
    return HttpResponse("begun")


async def later(token):
    await asyncio.sleep(0)
    note(token, "background done")


def sync_view(request):
    return JsonResponse({"main": threading.current_thread() is threading.main_thread()})


async def who(request):
    await asyncio.sleep(0.01)
    return HttpResponse(WHO.get())


async def headers(request):
    return HttpResponse("", headers={"X-Latin": "caf\u00e9".encode().decode("latin-1")})


async def client(request):
    return JsonResponse({"host": request.META["REMOTE_ADDR"],
                         "url": request.build_absolute_uri()})


async def empty(request):
    return HttpResponse(status=204)


class EchoConsumer(AsyncWebsocketConsumer):
    """Sends back what comes."""

    async def connect(self):
        await self.accept(next(iter(self.scope["subprotocols"]), None))

    async def receive(self, text_data=None, bytes_data=None):
        await self.send("echo " + text_data)


class JsonConsumer(AsyncJsonWebsocketConsumer):
    """One message, then a close with a code."""

    async def receive_json(self, content):
        await self.send_json({"got": content})
        await self.close(4001, "enough")


class DenyConsumer(AsyncWebsocketConsumer):
    """Lets nobody in."""

    async def connect(self):
        await self.close()


class RoomConsumer(WebsocketConsumer):
    """A synchronous consumer in a group."""

    def connect(self):
        async_to_sync(self.channel_layer.group_add)("room", self.channel_name)
        self.accept()

    def receive(self, text_data=None, bytes_data=None):
        async_to_sync(self.channel_layer.group_send)("room", {"type": "said", "text": text_data})

    def said(self, event):
        self.send(event["text"])

    def disconnect(self, code):
        async_to_sync(self.channel_layer.group_discard)("room", self.channel_name)


class PlainConsumer(AsyncHttpConsumer):
    """HTTP by Channels."""

    async def handle(self, body):
        await self.send_response(200, b"from a consumer", headers=[(b"X-Size", b"%d" % len(body))])


TASKS = []
urlpatterns = [
    path("hello", hello), path("item/<int:id>", item), path("form", form), path("upload", upload),
    path("json", echo_json), path("body", body), path("stream", stream), path("sse", events),
    path("events", notes), path("file", file), path("cookie", cookie), path("moved", moved),
    path("fail", fail), path("background", background), path("sync", sync_view), path("who", who),
    path("headers", headers), path("client", client), path("empty", empty),
]

app = ProtocolTypeRouter({
    "http": URLRouter([
        path("consumer", PlainConsumer.as_asgi()),
        re_path("", get_asgi_application()),
    ]),
    "websocket": URLRouter([
        path("ws/echo", EchoConsumer.as_asgi()), path("ws/json", JsonConsumer.as_asgi()),
        path("ws/deny", DenyConsumer.as_asgi()), path("ws/room", RoomConsumer.as_asgi()),
    ]),
})

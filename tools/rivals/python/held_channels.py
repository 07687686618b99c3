# SPDX-License-Identifier: MIT
"""Django whose streams are held by Channels: a consumer for each, in a group over Redis,
whose address is in REDIS."""

import os

from channels.consumer import AsyncConsumer
from channels.exceptions import StopConsumer
from channels.layers import get_channel_layer
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpResponse
from django.urls import path

settings.configure(
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["*"],
    SECRET_KEY="of a bench",
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    CHANNEL_LAYERS={"default": {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
                                "CONFIG": {"hosts": [os.environ["REDIS"]]}}},
)

GROUP = "bench"


class Events(AsyncConsumer):
    """Is one stream."""

    async def http_request(self, message):
        await self.channel_layer.group_add(GROUP, self.channel_name)
        await self.send({"type": "http.response.start", "status": 200,
                         "headers": [(b"content-type", b"text/event-stream")]})
        await self.piece(b":\n\n")

    async def bench_event(self, message):
        await self.piece(b"data: " + message["data"] + b"\n\n")

    async def piece(self, body):
        await self.send({"type": "http.response.body", "body": body, "more_body": True})

    async def http_disconnect(self, message):
        await self.channel_layer.group_discard(GROUP, self.channel_name)
        raise StopConsumer


def ping(request):
    return HttpResponse("ok")


async def publish(request):
    await get_channel_layer().group_send(GROUP, {"type": "bench.event", "data": request.body})
    return HttpResponse("ok")


urlpatterns = [path("ping", ping), path("pub", publish)]
django_app = get_asgi_application()
events = Events.as_asgi()


async def app(scope, receive, send):
    await (events if scope["path"] == "/events" else django_app)(scope, receive, send)

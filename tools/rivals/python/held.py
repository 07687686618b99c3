# SPDX-License-Identifier: MIT
"""Django whose streams are held by the server. The fields are GRIP's, so that
Pushpin understands the same answer. One view computes, one publishes."""

import os
import time

import m0pub
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, JsonResponse
from django.urls import path

settings.configure(
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["*"],
    SECRET_KEY="of a bench",
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
)


def ping(request):
    return HttpResponse(str(os.getpid()), content_type="text/plain")


def events(request):
    return HttpResponse(":\n\n", content_type="text/event-stream",
                        headers={"Grip-Hold": "stream", "Grip-Channel": "bench"})


def busy(request):
    """Takes 50 ms of CPU."""
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        sum(range(1000))
    return HttpResponse("done")


def publish(request):
    """Publishes many times, and says how long each took, in milliseconds; those that
    the server refuses or does not answer count too. Three without an answer are
    enough."""
    data, took, refused, unanswered = "x" * int(request.GET["bytes"]), [], 0, 0
    while len(took) < int(request.GET["times"]) and unanswered < 3:
        start = time.perf_counter()
        try:
            m0pub.publish("bench", data)
        except m0pub.Refused:
            refused += 1
        except m0pub.Unanswered:
            unanswered += 1
        took.append((time.perf_counter() - start) * 1000)
    return JsonResponse({"took_ms": took, "refused": refused, "unanswered": unanswered})


urlpatterns = [path("ping", ping), path("events", events), path("busy", busy),
               path("publish", publish)]
app = get_wsgi_application()

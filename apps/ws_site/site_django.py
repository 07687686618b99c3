# SPDX-License-Identifier: MIT
"""A chat in Django: synchronous views, sessions, and CSRF protection for the rest."""

import os

import django
import m0pub
from django.conf import settings
from django.http import HttpResponse, HttpResponseForbidden
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

settings.configure(
    DEBUG=False, SECRET_KEY="of a test", ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__,
    SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
    MIDDLEWARE=[
        "django.middleware.common.CommonMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
    ],
)
django.setup()

from django.core.wsgi import get_wsgi_application  # noqa: E402


def login(request):
    request.session["name"] = request.GET["name"]
    return HttpResponse("in")


def chat(request, room):
    """Accepts a socket of who is logged in."""
    name = request.session.get("name")
    if name is None:
        return HttpResponseForbidden("log in first\n")
    return HttpResponse(f"welcome {name}", headers={
        "M0-Hold": "websocket",
        "M0-Channel": f"room-{room}",
    })


def message(request):
    """Tells everybody in the room what somebody says."""
    name = request.session["name"]
    m0pub.publish(request.headers["M0-Channel"], f"{name}: {request.body.decode()}")
    return HttpResponse(status=204)


if "WITH_CSRF" not in os.environ:
    message = csrf_exempt(message)


urlpatterns = [
    path("login", login),
    path("chat/<room>", chat),
    path("ws/message", message),
]
app = get_wsgi_application()

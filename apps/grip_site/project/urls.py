# SPDX-License-Identifier: MIT
"""The paths of the site. The event streams are routed in each way that
django-eventstream knows."""

import django_eventstream
from django.contrib.staticfiles.views import serve
from django.urls import include, path, re_path
from live import holds, sockets, views

urlpatterns = [
    path("", views.page),
    # django-eventstream
    path("events/", include(django_eventstream.urls), {"channels": ["test"]}),
    path("pair/events/", include(django_eventstream.urls), {"channels": ["left", "right"]}),
    path("objects/<obj_id>/events/", include(django_eventstream.urls),
         {"format-channels": ["object-{obj_id}"]}),
    path("events/<channel>/", include(django_eventstream.urls)),
    path("select/events/", include(django_eventstream.urls)),
    path("send/", views.send),
    path("store/", views.store),
    path("current/", views.current),
    path("listeners/", views.listeners),
    path("login/", views.login),
    path("permit/", views.permit),
    # django-grip and gripcontrol
    path("grip/", views.grip),
    path("log/", views.log),
    path("publish/", views.publish_item),
    path("example/", holds.example),
    path("poll/", holds.poll),
    path("stream/", holds.stream),
    path("filtered/", holds.filtered),
    path("pages/", holds.pages),
    path("instruct/", holds.instruct),
    path("plain/", holds.plain),
    path("socket/", sockets.room),
    path("echo/", sockets.echo),
    path("refused/", sockets.refused),
    path("counted/", sockets.counted),
    path("driven/", sockets.driven),
    re_path(r"^static/(?P<path>.*)$", serve, {"insecure": True}),
]

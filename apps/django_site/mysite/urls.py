# SPDX-License-Identifier: MIT
"""The paths of the site; those of the contract with flask_site."""

from django.contrib.staticfiles.views import serve
from django.urls import path, re_path
from notes import views

urlpatterns = [
    path("", views.page),
    path("notes", views.add),
    path("notes.json", views.notes_json),
    path("hello", views.hello),
    path("table", views.table),
    path("request", views.request_json),
    path("sum", views.sum_json),
    path("echo", views.echo),
    path("upload", views.upload),
    path("path/<str:name>", views.named),
    path("search", views.search),
    path("stream", views.stream),
    path("download", views.download),
    path("etag", views.etagged),
    path("count", views.count),
    path("cookies", views.cookies),
    path("empty", views.empty),
    path("redirect", views.redirect),
    path("error", views.error),
    path("slow", views.slow),
    path("connection", views.connection_id),
    re_path(r"^static/(?P<path>.*)$", serve, {"insecure": True}),
]

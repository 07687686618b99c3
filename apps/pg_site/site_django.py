# SPDX-License-Identifier: MIT
"""A Django project in one file, on PostgreSQL, with the CONN_MAX_AGE that Django has by
itself: each request opens a connection of its own and closes it. Its streams are views
that ask the database for what they begin with."""

import os
import sys
import threading

import django
import m0pub
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection, transaction
from django.http import HttpResponse
from django.urls import path

settings.configure(
    SECRET_KEY="of a test",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": "postgres",
            "USER": "postgres",
            "HOST": "127.0.0.1",
            "PORT": os.environ["SITE_PG_PORT"],
            "CONN_MAX_AGE": 0,
            "OPTIONS": {"application_name": "site"},
        }
    },
)
django.setup()


def scalar(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


done = []  # the streams that Django has closed


class Stream(HttpResponse):
    """Is an answer that is held, and counts those that Django is done with."""

    def close(self):
        super().close()
        done.append(self)


def stream(request):
    """Begins with a figure from the database, and goes on with what is published."""
    count = scalar("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'site'")
    return Stream("data: %d\n\n" % count, headers={"M0-Channel": "news"})


def publish(request):
    """Publishes with a transaction, which others see committed or not at all."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS news (text text)")
        cursor.execute("INSERT INTO news VALUES (%s)", [request.GET["text"]])
        cursor.execute(m0pub.notify_sql("news", request.GET["text"]))
    return HttpResponse("published")


def process(request):
    """The process, how many threads Python knows in it, and of how many streams it is done."""
    return HttpResponse("%d %d %d" % (os.getpid(), threading.active_count(), len(done)))


urlpatterns = [
    path("process", process),
    path("publish", publish),
    path("stream", stream),
]
sys.modules.setdefault("site_django", sys.modules[__name__])
app = get_wsgi_application()

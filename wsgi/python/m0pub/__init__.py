# SPDX-License-Identifier: MIT
"""Publishes events to the streams of a service run by m0serve (or by a Go host).

    import m0pub
    m0pub.publish("news", "hello")
    m0pub.publish("match-7", "1:0", event="score")

It works from a view, a thread, a child process, a management command and a cron
job, and returns the event's id once every worker has the event on its way. It
finds the service by itself when it runs in the service's working directory, or
is a script that lies there; otherwise M0_PUBLISH_SOCKET names the service's
publish socket. Nothing but the standard library is needed, of Python 3.9 or later.

From a shell:  python -m m0pub news hello
With a database cursor:  cursor.execute(m0pub.notify_sql("news", "hello"))

The functions may be called from any thread and after a fork. Each call is
answered before it returns, so the events of one thread keep their order. A
connection that the service ended is opened again, once. Data, a str, is at most
about 4 MiB; a channel's name has at most 512 bytes and no control characters.

What goes wrong is an m0pub.PublishError: NobodyListens, SeveralListen, Refused or
Unanswered; each says what to do.
"""

from ._client import Publisher
from ._errors import NobodyListens, PublishError, Refused, SeveralListen, Unanswered
from ._sql import PG_CHANNEL, notify_sql
from ._wire import Message

__all__ = [
    "PG_CHANNEL",
    "Message",
    "NobodyListens",
    "PublishError",
    "Publisher",
    "Refused",
    "SeveralListen",
    "Unanswered",
    "apublish",
    "apublish_many",
    "close",
    "notify_sql",
    "publish",
    "publish_many",
]

_default = Publisher()

publish = _default.publish
publish_many = _default.publish_many
apublish = _default.apublish
apublish_many = _default.apublish_many
close = _default.close

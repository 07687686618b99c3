# SPDX-License-Identifier: MIT
"""Views that publish with m0pub, and one that is a stream."""

import os
import subprocess
import sys
import threading
import time

import m0pub
from django.http import JsonResponse, StreamingHttpResponse

# What a child process runs. It knows nothing of the service but its environment.
CHILD = "import sys, m0pub; print(m0pub.publish(sys.argv[1], sys.argv[2]))"


def directly(channel, data):
    return m0pub.publish(channel, data)


def in_a_thread(channel, data):
    ids = []
    thread = threading.Thread(target=lambda: ids.append(m0pub.publish(channel, data)))
    thread.start()
    thread.join()
    return ids[0]


def in_a_child(channel, data):
    """A child that was started elsewhere, so that the directory tells it nothing."""
    done = subprocess.run([sys.executable, "-c", CHILD, channel, data], cwd="/", check=True,
                          capture_output=True, text=True, timeout=10,
                          env={**os.environ, "PYTHONPATH": os.getcwd()})
    return int(done.stdout)


def in_a_fork(channel, data):
    """A child of fork, beside whose parent's connection it needs one of its own."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, b"%d" % m0pub.publish(channel, data))
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return int(text)


def orphan(channel, data):
    """A child of fork that outlives everybody; its process id."""
    pid = os.fork()
    if pid == 0:
        time.sleep(60)
        os._exit(0)
    return pid


def many(channel, data):
    return m0pub.publish_many([(channel, "%s %d" % (data, i)) for i in range(50)])[-1]


WAYS = {f.__name__: f for f in (directly, in_a_thread, in_a_child, in_a_fork, orphan, many)}


def say(request):
    """Publishes in one of the ways and returns the id, or says what is wrong."""
    try:
        return JsonResponse({"id": WAYS[request.GET["how"]](request.GET["channel"],
                                                            request.GET["data"])})
    except m0pub.PublishError as error:
        return JsonResponse({"error": type(error).__name__, "text": str(error)})


async def events(request):
    """A stream of what is published to a channel."""
    messages = request.scope["state"]["m0"].subscribe(request.GET["channel"])

    async def body():
        yield ":\n\n"
        async for message in messages:
            yield "id: %s\ndata: %s\n\n" % (message.id, message.data)

    return StreamingHttpResponse(body(), content_type="text/event-stream",
                                 headers={"X-Worker": str(os.getpid())})

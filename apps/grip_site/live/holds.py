# SPDX-License-Identifier: MIT
"""Answers that django-grip holds: streams and long polls."""

from django.http import HttpResponse, HttpResponseNotModified
from django_grip import publish, set_hold_longpoll, set_hold_stream
from gripcontrol import Channel, HttpStreamFormat, create_hold_response, create_hold_stream


def example(request):
    """The example of django-grip: GET waits for what POST brings."""
    if request.method == "GET":
        set_hold_stream(request, "example")
        return HttpResponse("[stream open]\n")
    publish("example", HttpStreamFormat(request.POST["data"] + "\n"))
    return HttpResponse("Ok\n")


def channels(request):
    """The channels a request names, with the id of the last item that it knows."""
    return [
        Channel(name, prev_id=request.GET.get("prev")) for name in request.GET.getlist("channel")
    ]


def stream(request):
    """A stream, with a keep-alive when one is asked for."""
    query = request.GET
    response = HttpResponse(query.get("body", "[open]\n"), content_type="text/plain")
    set_hold_stream(
        request, channels(request),
        keep_alive_data=query.get("keep"), keep_alive_timeout=query.get("seconds"))
    if "next" in query:
        request.grip.instruct.set_next_link(query["next"], timeout=query.get("next-seconds"))
    response["X-One"] = "kept"
    return response


def filtered(request):
    """A stream that does not hear itself."""
    channel = Channel(request.GET["channel"])
    channel.filters.append("skip-self")
    set_hold_stream(request, [channel])
    request.grip.instruct.meta["user"] = request.GET["user"]
    return HttpResponse("[open]\n", content_type="text/plain")


def poll(request):
    """A long poll: 304 or a text when nothing comes."""
    set_hold_longpoll(request, channels(request), timeout=request.GET.get("seconds"))
    if "unmodified" in request.GET:
        return HttpResponseNotModified()
    return HttpResponse("nothing\n", content_type="text/plain")


def pages(request):
    """An answer in pages that the proxy puts together, from page n to the third."""
    n = int(request.GET["n"])
    response = HttpResponse(f"page {n}\n", content_type="text/plain")
    if n < 3:
        instruct = request.grip.start_instruct()
        instruct.add_channel("pages")
        instruct.set_next_link(f"/pages/?n={n + 1}")
    return response


def instruct(request):
    """The hold as a document, as gripcontrol makes it."""
    create = create_hold_stream if request.GET["hold"] == "stream" else create_hold_response
    return HttpResponse(
        create(request.GET["channel"], "from the document\n"),
        content_type="application/grip-instruct")


def plain(request):
    """An answer that nobody holds."""
    response = HttpResponse("plain\n", status=int(request.GET.get("status", 200)))
    response["X-One"] = "kept"
    return response

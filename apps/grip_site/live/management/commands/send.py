# SPDX-License-Identifier: MIT
"""python manage.py send CHANNEL TEXT: an event from a process that serves nobody."""

from django.core.management.base import BaseCommand
from django_eventstream import send_event


class Command(BaseCommand):
    help = "send events to a channel"

    def add_arguments(self, parser):
        parser.add_argument("channel")
        parser.add_argument("text", nargs="+")

    def handle(self, *args, channel, text, **options):
        for each in text:
            send_event(channel, "message", {"text": each}, async_publish=False)

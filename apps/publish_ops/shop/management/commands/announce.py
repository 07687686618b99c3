# SPDX-License-Identifier: MIT
"""python manage.py announce CHANNEL DATA"""

import m0pub
from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    """Publishes one event."""

    def add_arguments(self, parser):
        parser.add_argument("channel")
        parser.add_argument("data")

    def handle(self, *args, channel, data, **options):
        try:
            self.stdout.write(str(m0pub.publish(channel, data)))
        except m0pub.PublishError as error:
            raise CommandError(str(error))

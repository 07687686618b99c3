# SPDX-License-Identifier: MIT
import time

from board.models import Job
from board.views import tell
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.template.loader import render_to_string

STEPS = 50


class Command(BaseCommand):
    help = "Works for a while and shows every open board how far it is."

    def add_arguments(self, parser):
        parser.add_argument("--job", type=int, metavar="ID", help="a job that was begun already")

    def handle(self, *args, job=None, **options):
        work = Job.objects.get(pk=job) if job else Job.begin()
        if work is None:
            raise CommandError("a job is running already")
        for step in range(1, STEPS + 1):
            time.sleep(settings.BOARD_JOB_SECONDS / STEPS)
            work.percent = step * 100 // STEPS
            work.save()
            tell("job", render_to_string("board/job.html", {"job": work}))
        tell("notice", f"Job {work.pk} is done")

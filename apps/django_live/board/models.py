# SPDX-License-Identifier: MIT
from datetime import timedelta
from zlib import crc32

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone


class Comment(models.Model):
    """What somebody wrote."""

    author = models.CharField("Your name", max_length=40)
    text = models.TextField("Comment", max_length=1000)
    made = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    @property
    def hue(self):
        """One of six colours, always the same for a name."""
        return crc32(self.author.encode()) % 6


class Job(models.Model):
    """A piece of work that takes a while, done by `manage.py longjob`."""

    percent = models.PositiveSmallIntegerField(default=0)
    made = models.DateTimeField(auto_now_add=True)
    touched = models.DateTimeField(auto_now=True)

    @property
    def running(self):
        """Whether it goes on. One that nobody touched for a while was killed."""
        return self.percent < 100 and self.touched > timezone.now() - timedelta(seconds=15)

    @property
    def version(self):
        """Grows with every step and every job."""
        return self.pk * 1000 + self.percent

    @classmethod
    def begin(cls):
        """A new job, or None while one is running."""
        with transaction.atomic():
            last = cls.objects.last()
            return None if last and last.running else cls.objects.create()


class Tab(models.Model):
    """A page that is open somewhere, as far as it says so."""

    id = models.UUIDField(primary_key=True)
    last_seen = models.DateTimeField()

    @classmethod
    def seen(cls, id, leaving=False):
        """Notes that a tab was heard of, forgets those that have long been silent, and
        returns how many there are and whether that is news."""
        now = timezone.now()
        silent = now - 2.5 * timedelta(seconds=settings.BOARD_BEAT_SECONDS)
        with transaction.atomic():
            gone, _ = cls.objects.filter(last_seen__lt=silent).exclude(id=id).delete()
            if leaving:
                gone, new = gone + cls.objects.filter(id=id).delete()[0], False
            else:
                _, new = cls.objects.update_or_create(id=id, defaults={"last_seen": now})
            return cls.objects.count(), bool(gone or new)

# SPDX-License-Identifier: MIT
"""What the site remembers beside the events."""

from django.db import models


class Permission(models.Model):
    """A user may read a channel whose name opens with "private-"."""

    user_id = models.CharField(max_length=40)
    channel = models.CharField(max_length=200)

    class Meta:
        unique_together = ("user_id", "channel")


class Note(models.Model):
    """Something that a view saw, for the tests to read."""

    topic = models.CharField(max_length=200)
    text = models.CharField(max_length=200)

    class Meta:
        ordering = ["id"]

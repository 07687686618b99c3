# SPDX-License-Identifier: MIT
from django.db import models


class Note(models.Model):
    """A line that somebody left."""

    text = models.CharField(max_length=200)
    made = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

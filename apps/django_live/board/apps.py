# SPDX-License-Identifier: MIT
from django.apps import AppConfig


class BoardConfig(AppConfig):
    name = "board"

# SPDX-License-Identifier: MIT
"""Where the views are."""

from django.urls import path

from . import views

urlpatterns = [path("events", views.events), path("say", views.say)]

# SPDX-License-Identifier: MIT
from board import views
from django.urls import path

urlpatterns = [
    path("", views.page, name="page"),
    path("events", views.events, name="events"),
    path("comment", views.comment, name="comment"),
    path("wave", views.wave, name="wave"),
    path("job", views.job, name="job"),
    path("here", views.here, name="here"),
]

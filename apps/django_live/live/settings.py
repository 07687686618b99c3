# SPDX-License-Identifier: MIT
"""Settings of an ordinary project: nothing in them is about realtime."""

import os
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent

SECRET_KEY = os.environ.get("LIVE_SECRET_KEY", "of a demo on your own machine")
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "board",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "live.urls"
WSGI_APPLICATION = "live.wsgi.application"
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "APP_DIRS": True,
    "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
}]

DATABASES = {"default": {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": os.environ.get("LIVE_DB", BASE_DIR / "live.db"),
    "OPTIONS": {  # several processes write
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    },
}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"

USE_TZ = True
TIME_ZONE = "UTC"
STATIC_URL = "/static/"

# The board: how often a page says that it is open, and how long the job takes.
BOARD_BEAT_SECONDS = float(os.environ.get("LIVE_BEAT_SECONDS", 10))
BOARD_JOB_SECONDS = float(os.environ.get("LIVE_JOB_SECONDS", 10))

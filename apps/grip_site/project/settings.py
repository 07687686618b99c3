# SPDX-License-Identifier: MIT
"""Settings as the packages' own pages give them, for a synchronous site on SQLite."""

import os
from pathlib import Path

BASE = Path(__file__).resolve().parent.parent

# django-grip: where publishes go and, with a key in it, how requests are signed.
# Who serves the site names the place; the other address is the one that the
# packages' pages have.
GRIP_URL = os.environ.get("GRIP_URL", "http://localhost:5561")
GRIP_PROXY_REQUIRED = True

# django-eventstream
EVENTSTREAM_STORAGE_CLASS = "django_eventstream.storage.DjangoModelStorage"
EVENTSTREAM_CHANNELMANAGER_CLASS = "live.channelmanager.SiteChannelManager"
EVENTSTREAM_ALLOW_ORIGINS = ["http://127.0.0.1:1"]

SECRET_KEY = os.environ.get("SITE_SECRET", "for the tests of this site, and of no use elsewhere")
DEBUG = False
ALLOWED_HOSTS = ["site.test", "127.0.0.1", "localhost"]
ROOT_URLCONF = "project.urls"
WSGI_APPLICATION = "project.wsgi.application"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_eventstream",
    "live",
]
MIDDLEWARE = [
    "django_grip.GripMiddleware",
    "live.middleware.NameWorker",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "APP_DIRS": True,
}]
DATABASES = {"default": {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": os.environ.get("SITE_DB", str(BASE / "site.sqlite3")),
    "OPTIONS": {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    },
}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
STATIC_URL = "/static/"
USE_TZ = True
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "loggers": {"django": {"handlers": ["console"], "level": "ERROR"}},
}

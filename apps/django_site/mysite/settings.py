# SPDX-License-Identifier: MIT
"""Settings as a deployed site has them: no debug, cookies signed, SQLite."""

import os
from pathlib import Path

BASE = Path(__file__).resolve().parent.parent

SECRET_KEY = os.environ.get("SITE_SECRET", "for tests alone")
DEBUG = False
ALLOWED_HOSTS = ["site.test", "127.0.0.1", "localhost"]
ROOT_URLCONF = "mysite.urls"
WSGI_APPLICATION = "mysite.wsgi.application"

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "notes",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.http.ConditionalGetMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "APP_DIRS": True,
    "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
}]
DATABASES = {"default": {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": os.environ.get("SITE_DB", str(BASE / "site.sqlite3")),
    "CONN_MAX_AGE": None,  # a connection lives as long as its thread
    "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE"},
}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
STATIC_URL = "/static/"
USE_TZ = True
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024
SECURE_PROXY_SSL_HEADER = None

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "loggers": {"django": {"handlers": ["console"], "level": "ERROR"}},
}

# SPDX-License-Identifier: MIT
"""As little as a project needs."""

SECRET_KEY = "not a secret: a test"
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = ["shop"]
ROOT_URLCONF = "shop.urls"
USE_TZ = True

# SPDX-License-Identifier: MIT
"""Django with the middleware of a new project that needs no database: a short
answer, and a page of about 10 KB by the template engine."""

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.template import engines
from django.urls import path

PAGE = """<!doctype html><title>{{ title }}</title>
<table>{% for row in rows %}
<tr class="{% cycle 'odd' 'even' %}"><td>{{ row.id }}<td>{{ row.name|title }}
<td>{{ row.price|floatformat:2 }}{% if row.sold %}<td>sold{% else %}<td>there{% endif %}
{% endfor %}</table>
"""
ROWS = [{"id": i, "name": f"thing number <{i}>", "price": i * 1.25, "sold": i % 3 == 0}
        for i in range(142)]

settings.configure(
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["*"],
    SECRET_KEY="of a bench",
    MIDDLEWARE=[
        "django.middleware.security.SecurityMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
    ],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
)


def hello(request):
    return HttpResponse("Hello, world!")


def page(request):
    return HttpResponse(page.template.render({"title": "Things", "rows": ROWS}, request))


urlpatterns = [path("", hello), path("page", page)]
django.setup()
page.template = engines["django"].from_string(PAGE)
app = get_wsgi_application()

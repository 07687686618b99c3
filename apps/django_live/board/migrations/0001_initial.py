# SPDX-License-Identifier: MIT
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel(
            name="Comment",
            fields=[
                ("id", models.BigAutoField(
                    auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("author", models.CharField(max_length=40, verbose_name="Your name")),
                ("text", models.TextField(max_length=1000, verbose_name="Comment")),
                ("made", models.DateTimeField(auto_now_add=True)),
            ],
            options={"ordering": ["-id"]},
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                ("id", models.BigAutoField(
                    auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("percent", models.PositiveSmallIntegerField(default=0)),
                ("made", models.DateTimeField(auto_now_add=True)),
                ("touched", models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name="Tab",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("last_seen", models.DateTimeField()),
            ],
        ),
    ]

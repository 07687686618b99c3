# SPDX-License-Identifier: MIT
from django.db import migrations, models


def key():
    return models.BigAutoField(
        auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel(
            name="Permission",
            fields=[
                ("id", key()),
                ("user_id", models.CharField(max_length=40)),
                ("channel", models.CharField(max_length=200)),
            ],
            options={"unique_together": {("user_id", "channel")}},
        ),
        migrations.CreateModel(
            name="Note",
            fields=[
                ("id", key()),
                ("topic", models.CharField(max_length=200)),
                ("text", models.CharField(max_length=200)),
            ],
            options={"ordering": ["id"]},
        ),
    ]

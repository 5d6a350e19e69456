"""A reply wait without a time-out is refused (A5): a comparison with null let it pass."""

from datetime import timedelta

from django.db import migrations, models


class Migration(migrations.Migration):
    """The constraint of the same name, made again with `timeout is not null`."""

    dependencies = [("workflows", "0002_database_guards")]
    operations = [
        migrations.RemoveConstraint(model_name="wait", name="wait_reply_has_timeout"),
        migrations.AddConstraint(
            model_name="wait",
            constraint=models.CheckConstraint(
                condition=~models.Q(kind="reply")
                | models.Q(
                    timeout__isnull=False,
                    timeout__gte=timedelta(hours=1),
                    timeout__lte=timedelta(days=30),
                    contact_id__isnull=False,
                    chat_id__isnull=False,
                ),
                name="wait_reply_has_timeout",
            ),
        ),
    ]

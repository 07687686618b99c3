# SPDX-License-Identifier: MIT
"""Who may read which channel, and which channels are stored."""

from django_eventstream.channelmanager import DefaultChannelManager


class SiteChannelManager(DefaultChannelManager):
    def can_read_channel(self, user, channel):
        if channel.startswith("_"):
            return user is not None
        if channel.startswith("private-"):
            from live.models import Permission

            who = str(user.pk) if user else "anonymous"
            return Permission.objects.filter(user_id=who, channel=channel).exists()
        return True

    def is_channel_reliable(self, channel):
        return not channel.startswith("passing-")

"""Whom alerts go to: the console, or a channel that apprise knows."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any

from bus.errors import InputError
from foresail.output import print_error

CHANNELS = ("console", "slack_webhook", "webhook")
Send = Callable[[str], bool]
"""Hands on one alert; whether it was taken."""


def add_channel(parser: argparse.ArgumentParser) -> None:
    """Add the flags that choose a channel."""
    parser.add_argument("--channel-type", choices=CHANNELS, default="console",
                        help="whom alerts go to (default: %(default)s)")  # fmt: skip
    parser.add_argument("--webhook-url", metavar="URL",
                        help="of the channel: https://..., or any URL that apprise knows")  # fmt: skip


def sender(arguments: argparse.Namespace, title: str) -> Send:
    """Return what an alert is handed to; `title` stands above it, where the channel has titles.

    Raises:
        InputError: the channel lacks its URL, the URL cannot be used, or apprise is not installed.
    """
    if arguments.channel_type == "console":
        return _tell_console
    if arguments.webhook_url is None:
        raise InputError("--webhook-url", "(nothing)", "give the channel's URL")
    try:
        apprise: Any = import_module("apprise")
    except ImportError as error:
        raise InputError(
            "--channel-type", "apprise", "install it: pip install 'foresail[tune]'"
        ) from error
    channel = apprise.Apprise()
    url = arguments.webhook_url
    if arguments.channel_type == "webhook":
        url = url.replace("https://", "jsons://").replace("http://", "json://")
    if not channel.add(url):
        raise InputError("--webhook-url", arguments.webhook_url, "give a URL that apprise knows")
    return lambda text: bool(channel.notify(title=title, body=text))


def _tell_console(text: str) -> bool:
    print_error(f"alert: {text}")
    return True

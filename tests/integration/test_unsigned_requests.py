"""Requests that nobody signed leave nothing behind in memory."""

import time

import aiohttp

from tests.integration.test_slack_requests import Heard, heard

__all__ = ["heard"]


async def test_what_is_answered_without_a_signature_is_not_remembered(heard: Heard) -> None:
    form = {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Slack-Request-Timestamp": str(int(time.time())),
    }
    async with aiohttp.ClientSession() as session:
        for number in range(50):
            signed = {**form, "X-Slack-Signature": f"v0={number:064x}"}
            async with session.post(heard.url, data="ssl_check=1&token=x", headers=signed) as response:
                assert response.status == 200
    assert heard.requests._taken == {}


async def test_health_checks_of_slack_without_any_signature_are_all_answered(heard: Heard) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    async with aiohttp.ClientSession() as session:
        for _ in range(3):
            async with session.post(heard.url, data="ssl_check=1&token=x", headers=form) as response:
                assert response.status == 200

"""A Prometheus endpoint, read once."""

from __future__ import annotations

import asyncio
import time
import urllib.error
import urllib.request
from http.client import HTTPException, HTTPResponse
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from ric_doctor.facts import Sample

_BYTES_MAX: Final = 16 * 1024 * 1024


async def scrape(url: str, timeout_s: float) -> tuple[tuple[Sample, ...], str]:
    """Samples, and the error ("" without one)."""
    return await asyncio.to_thread(_scrape, url, timeout_s)


def url_of(given: str) -> str:
    """`host:port` as the address of its /metrics; an http address as it is."""
    return given if given.startswith(("http://", "https://")) else f"http://{given}/metrics"


def _read(answer: HTTPResponse, deadline_s: float) -> bytes:
    """The body; the timeout of `urlopen` holds for each piece alone."""
    body = bytearray()
    while piece := answer.read1(_BYTES_MAX - len(body)):
        body += piece
        if time.monotonic() > deadline_s:
            raise TimeoutError("still sending after the time given")
    return bytes(body)


def _scrape(url: str, timeout_s: float) -> tuple[tuple[Sample, ...], str]:
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:  # noqa: S310 - http alone
            text = _read(answer, time.monotonic() + timeout_s).decode()
    except urllib.error.HTTPError as error:
        error.close()
        return (), f"HTTP {error.code}"
    except urllib.error.URLError as error:
        return (), str(getattr(error.reason, "strerror", None) or error.reason)
    except (OSError, ValueError, HTTPException) as error:
        return (), str(error) or type(error).__name__
    try:
        samples = tuple(
            (sample.name, tuple(sorted(sample.labels.items())), float(sample.value))
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        )
    except (ValueError, KeyError, IndexError) as error:
        return (), f"not Prometheus text: {error}"
    return samples, ""

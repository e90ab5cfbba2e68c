"""Pages from their files: texts put in place of their names, files of `shared` included."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from sojourn_dashboards.names import NAMES, SHARED
from sojourn_dashboards.page import Page

_NAME: Final = re.compile(r"<(\w+)>")
Texts = Mapping[str, str]


class PageError(ValueError):
    """A page that cannot be drawn: the message says which and why."""


def read_page(path: Path) -> Page:
    """The page of a file.

    Raises:
        PageError: No such file, not YAML, or a key, name or value that no page has.
    """
    try:
        raw = _loaded(path)
        texts: dict[str, str] = {}
        for name, text in {**NAMES["texts"], **raw.get("let", {})}.items():
            texts[name] = _filled(text, texts)
        return Page.model_validate(_filled(raw, texts))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise PageError(f"{path}: {error}") from error


def _loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _filled(part: Any, texts: Texts) -> Any:
    """The part with a text for each `<name>`, and a file of `shared` for each `include`."""
    match part:
        case str():
            return _NAME.sub(lambda found: _text(found[1], texts), part)
        case list():
            return [_filled(each, texts) for each in part]
        case {"include": file, **given}:
            own = {str(name): str(_filled(value, texts)) for name, value in given.items()}
            return _filled(_loaded(SHARED / f"{file}.yaml"), {**texts, **own})
        case dict():
            return {_filled(key, texts): _filled(value, texts) for key, value in part.items()}
    return part


def _text(name: str, texts: Texts) -> str:
    if name not in texts:
        raise PageError(f"<{name}>: expected one of {', '.join(texts)}")
    return texts[name]

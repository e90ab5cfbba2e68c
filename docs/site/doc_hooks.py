"""MkDocs hooks: all Markdown of the repository as pages, generated references, Rust's docs."""

from __future__ import annotations

import shutil
from pathlib import Path

import doc_links
import doc_references
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Sets the Python source folders of mkdocstrings."""
    options = config.plugins["mkdocstrings"].config["handlers"]["python"]
    options["paths"] = [str(folder / "src") for folder in doc_references.distributions()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds pages at their own paths, the files they link to, and the generated references."""
    for page in doc_links.pages():
        _add(files, config, doc_links.ROOT / page)
        for _, target in doc_links.links((doc_links.ROOT / page).read_text(encoding="utf-8")):
            linked = (doc_links.ROOT / page).parent / target.partition("#")[0]
            if linked.is_file() and linked.suffix != ".md":
                _add(files, config, linked.resolve())
    for path, make in doc_references.PAGES.items():
        files.append(File.generated(config, path, content=make()))
    for path, content in doc_references.python_pages().items():
        files.append(File.generated(config, path, content=content))
    return files


def _add(files: Files, config: MkDocsConfig, path: Path) -> None:
    uri = path.relative_to(doc_links.ROOT).as_posix()
    if files.get_file_from_path(uri) is None:
        files.append(File.generated(config, uri, abs_src_path=str(path)))


def on_post_build(config: MkDocsConfig) -> None:
    """Copies the Rust documentation beside the pages.

    Raises:
        PluginError: ``cargo doc`` has not been run.
    """
    if not doc_references.RUST_DOCS.is_dir():
        raise PluginError(
            f"{doc_references.RUST_DOCS}: missing; run cargo doc --workspace --no-deps first"
        )
    shutil.copytree(doc_references.RUST_DOCS, Path(config.site_dir) / "rust", dirs_exist_ok=True)

"""Reports with one look: pages in HTML, figures for light and dark backgrounds, tables in Markdown.

A maker gives its tables and figures; files are without dates and outside resources, so that equal
runs give equal files.

>>> from markupsafe import Markup
>>> from sojourn_report import Column, Section, Table, page
>>> delays = Table([Column("flow"), Column("p95, ms", "number")], [["ping", "12.5"]])
>>> "<td>ping</td>" in page("Delays", Markup("of <b>one</b> run"), [Section("Flows", [delays])])
True
"""

from sojourn_report.figures import FORMATS, Key, Plot, plain, save
from sojourn_report.markdown import table as markdown_table
from sojourn_report.page import Column, Note, Plots, Section, Table, page

__all__ = [
    "FORMATS",
    "Column",
    "Key",
    "Note",
    "Plot",
    "Plots",
    "Section",
    "Table",
    "markdown_table",
    "page",
    "plain",
    "save",
]

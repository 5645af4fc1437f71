"""The table of pages: a row an address, from the module of each noun, in the order of the navigation."""

from typing import Final

from promptuary.server.page import admin, experiences, files, memory, search, sessions, status, threads, turns
from promptuary.server.page.view import Page

PAGES: Final[tuple[Page, ...]] = (
    *turns.PAGES,
    *threads.PAGES,
    *memory.PAGES,
    *search.PAGES,
    *files.PAGES,
    *experiences.PAGES,
    *sessions.PAGES,
    *status.PAGES,
    *admin.PAGES,
)

TWIN: Final = ".json"
"""What is added to the address of a page for its value as JSON."""

LIVE: Final = "/live"
"""Where events come from."""
SIGN_IN: Final = "/sign-in"
SIGN_OUT: Final = "/sign-out"
STATIC: Final = "/static"
HOME: Final = "/"

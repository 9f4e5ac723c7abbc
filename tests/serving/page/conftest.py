"""The page in a real browser, against a real server over a tiny store.

The server runs in a thread of this process (its teaching processes are processes as ever); the page's security policy is
in force; a test fails if the page wrote an error to the console or left an exception uncaught.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Page

from classic.serving.app import create_app
from classic.serving.guard import Access
from classic.serving.service import Service, ServiceConfig
from classic.store.store import Store

from ..conftest import TOKEN

PATIENCE = 180_000  # milliseconds a condition may take on a busy machine; nothing waits that long if all is well
PHONES = ({"width": 390, "height": 844}, {"width": 320, "height": 640})

Site = Callable[..., str]
Visit = Callable[..., "Page"]


def go(page: Page, screen: str) -> None:
    """Changes to a screen."""
    page.get_by_role("navigation").get_by_role("link", name=screen).click()


@pytest.fixture
def site() -> Iterator[Site]:
    """Serves a store; returns the address that `classic serve` would print."""
    with ExitStack() as stack:

        def start(store: Path, **changes: Any) -> str:
            listener = socket.create_server(("127.0.0.1", 0))
            app = create_app(Service(Store.open(store), ServiceConfig(access=Access(TOKEN), **changes)))
            server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
            thread.start()

            def stop() -> None:
                server.should_exit = True
                thread.join()
                listener.close()

            stack.callback(stop)
            return f"http://127.0.0.1:{listener.getsockname()[1]}/#token={TOKEN}"

        yield start


@pytest.fixture
def visit(browser: Browser, site: Site) -> Iterator[Visit]:
    """Opens an address in a browser profile of its own; `expected` are console errors that belong to the test."""
    with ExitStack() as stack:
        wrong: list[str] = []

        def open_page(address: str, expected: str = r"(?!)", **options: Any) -> Page:
            context = browser.new_context(**options)
            context.set_default_timeout(PATIENCE)
            stack.callback(context.close)
            page = context.new_page()
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
            page.goto(address)
            stack.callback(lambda: wrong.__setitem__(slice(None), [w for w in wrong if not re.search(expected, w)]))
            return page

        yield open_page
    assert wrong == []


@pytest.fixture
def page(visit: Visit, site: Site, taught_store: Path) -> Page:
    """The page over the store of three learned domains."""
    return visit(site(taught_store))

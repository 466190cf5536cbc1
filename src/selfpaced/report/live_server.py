"""A web server that shows the runs of one folder to browsers on this machine, and to nobody else.

It listens on the loopback address only, answers GET requests for one page only, and writes nothing.
"""

import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from selfpaced.report.live_page import live_page

ADDRESS = "127.0.0.1"
NAMES = ("127.0.0.1", "localhost")  # by which a browser on this machine may ask for the page
IDLE_SECONDS = 10  # after which a silent connection is closed
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""What every answer says about itself: browsers load nothing else for it, and keep no copy."""


class LiveServer(ThreadingHTTPServer):
    """Serves the page of the runs in `out`; `serve_forever` works until `shutdown`."""

    def __init__(self, out: Path, port: int, refresh: int) -> None:
        super().__init__((ADDRESS, port), _Handler)
        self.daemon_threads = True  # a browser that is still connected does not keep us alive
        self.hosts = {f"{name}:{self.server_port}" for name in NAMES}
        self._out, self._refresh = out, refresh
        self._lock = threading.Lock()
        self._made, self._page = -float("inf"), b""

    @property
    def url(self) -> str:
        """The page's address for a browser."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def page(self) -> bytes:
        """The page, at most half a refresh old, so that many browsers cost no more than one."""
        with self._lock:
            if time.monotonic() - self._made > self._refresh / 2:
                self._page = live_page(self._out, self._refresh).encode()
                self._made = time.monotonic()
            return self._page


class _Handler(BaseHTTPRequestHandler):
    """Answers one request; whatever is not a GET of the page from this machine is refused."""

    server: LiveServer  # pyright: ignore[reportIncompatibleVariableOverride]
    timeout = IDLE_SECONDS
    server_version, sys_version = "selfpaced", ""

    def do_GET(self) -> None:
        """Send the page."""
        # A page of another site can point its own name at this machine ("DNS rebinding"). Its
        # requests then come from here, but they name the other site as the host.
        if self.headers.get("Host", "") not in self.server.hosts:
            self._answer(HTTPStatus.FORBIDDEN, b"This server answers requests to localhost only.\n")
        elif self.path != "/":
            self._answer(HTTPStatus.NOT_FOUND, b"There is one page here, at /.\n")
        else:
            self._answer(HTTPStatus.OK, self.server.page())

    def _answer(self, code: HTTPStatus, content: bytes) -> None:
        self.send_response(code)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: only the command line prints."""

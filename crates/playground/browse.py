"""Chromium by its debugging pipe, for the pages of the playground: no driver, no dependency."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

LONGEST_S = 600


class Fault(Exception):
    """A page that is not as it has to be."""


class Browser:
    """A headless Chromium with one page."""

    def __init__(self, program: str = "chromium") -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="playground-")
        # It reads commands from its descriptor 3 and writes answers to 4.
        command_read, self._write = os.pipe()
        self._read, answer_write = os.pipe()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--no-first-run", "--disable-background-networking", "--disable-component-update",
                   "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
                   f"--user-data-dir={self._folder.name}"]
        shell = f'exec "$0" "$@" 3<&{command_read} 4>&{answer_write}'
        self._process = subprocess.Popen(["bash", "-c", shell, program, *options],
                                         pass_fds=(command_read, answer_write),
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL)
        os.close(command_read)
        os.close(answer_write)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        #: Messages of the console, and errors of scripts.
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        #: Addresses that were asked for, but for files, blobs and data.
        self.requests: list[str] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._folder.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise Fault(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            self._note(answer.get("method", ""), answer.get("params", {}))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            more = os.read(self._read, 1 << 20)
            if not more:
                raise Fault("Chromium has ended")
            self._buffer += more
        line, self._buffer = self._buffer.split(b"\0", 1)
        return dict(json.loads(line))

    def _note(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"].get("exception", {}).get("description", "?"))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append(str([one.get("value") for one in parameters["args"]]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            address = parameters["request"]["url"]
            if not address.startswith(("file:", "blob:", "data:", "about:")):
                self.requests.append(address)

    def script(self, expression: str) -> Any:
        """The value of an expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Fault(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def open(self, page: Path, fragment: str = "", *, width: int = 1280, dark: bool = False) -> None:
        """Opens a page from its file, anew even if only the fragment differs."""
        self.call("Page.navigate", url="about:blank")
        self.size(width, 950)
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=page.resolve().as_uri() + fragment)
        self.until("document.readyState === 'complete'")

    def size(self, width: int, height: int) -> None:
        """Gives the window this size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=False)

    def until(self, condition: str) -> None:
        """Waits until an expression is true, asked at each frame of the page."""
        wait = ("new Promise((done, give_up) => { const end = performance.now() + %d; const ask = () => {"
                "let yes = false; try { yes = %s; } catch {} if (yes) done(); "
                "else if (performance.now() > end) give_up(new Error('never: ' + %s)); "
                "else setTimeout(ask, 20); }; ask(); })")
        self.script(wait % (LONGEST_S * 1000, condition, json.dumps(condition)))

    def press(self, key: str, *, code: int = 0, shift: bool = False) -> None:
        """Presses a key: "Tab", "ArrowRight", "Enter", " "."""
        text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
        codes = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowRight": 39, "ArrowUp": 38, "ArrowDown": 40,
                 " ": 32, "Home": 36, "End": 35}
        about = {"key": key, "windowsVirtualKeyCode": code or codes.get(key, 0), "modifiers": 8 if shift else 0}
        if text:
            about["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown", **about)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def picture(self, path: Path, *, whole: bool = True, clip: dict[str, float] | None = None) -> None:
        """Writes a picture of the page, or of a part of it."""
        options: dict[str, Any] = {"captureBeyondViewport": whole}
        if clip:
            options["clip"] = {**clip, "scale": 1}
        elif whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **options)["data"]))

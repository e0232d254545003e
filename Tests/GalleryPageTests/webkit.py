"""Drives WebKitGTK's browser, the nearest to Safari on Linux, by the W3C's WebDriver protocol."""

import contextlib
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
from pathlib import Path

import mock_server
from real_gallery import wait_until

DRIVER = "/usr/bin/WebKitWebDriver"
BROWSERS = Path("/usr/lib").glob("*/webkit2gtk-4.1/MiniBrowser")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Delete": "\ue017", "ArrowRight": "\ue014", "ArrowLeft": "\ue012"}
CONTROL = "\ue009"


class Refused(Exception):
    """What the driver says it could not do."""


@contextlib.contextmanager
def screen(folder, width, height):
    """An X server that keeps its picture in a file of this folder; yields its name."""
    reading, writing = os.pipe()
    process = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp",
         "-fbdir", str(folder)],
        pass_fds=[writing], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        with os.fdopen(reading) as pipe:
            number = pipe.readline().strip()
        if not number:
            raise Refused("Xvfb does not start")
        yield f":{number}"
    finally:
        process.terminate()
        process.wait()


class Browser:
    """One window. `home` is the browser's home directory, where its downloads go too. It ends with the block."""

    def __init__(self, home, patience=60, width=1280, height=900):
        self.home, self.patience = home, patience
        self.size = (width, height)
        self.ends = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as ends:
            display = ends.enter_context(screen(self.home, *self.size))
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
            environment = dict(
                os.environ, HOME=str(self.home), DISPLAY=display, LANG="en_GB.UTF-8", LC_ALL="C.UTF-8", LANGUAGE="en",
                XDG_CONFIG_HOME=str(self.home / ".config"), XDG_CACHE_HOME=str(self.home / ".cache"),
                XDG_DATA_HOME=str(self.home / ".local"), GDK_BACKEND="x11", NO_AT_BRIDGE="1", GTK_A11Y="none",
                # Nothing here draws with a graphics processor.
                LIBGL_ALWAYS_SOFTWARE="1", WEBKIT_DISABLE_DMABUF_RENDERER="1")
            environment.pop("WAYLAND_DISPLAY", None)
            # Without a bus to reach, it starts none of its own, which would outlive it.
            environment["DBUS_SESSION_BUS_ADDRESS"] = "disabled:"
            process = subprocess.Popen([DRIVER, f"--port={self.port}"], env=environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            ends.callback(self.kill, process)
            self.wait(self.is_ready, "WebKitWebDriver does not start")
            binary = next(BROWSERS, None)
            if binary is None:
                raise Refused("there is no MiniBrowser of WebKitGTK")
            session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
                "acceptInsecureCerts": True,
                "webkitgtk:browserOptions": {"binary": str(binary), "args": ["--automation"]}}}})
            self.version = session["capabilities"]["browserVersion"]
            self.base = f"/session/{session['sessionId']}"
            ends.callback(self.end)
            self.post("/window/rect", {"x": 0, "y": 0, "width": self.size[0], "height": self.size[1]})
            self.ends = ends.pop_all()
        return self

    def __exit__(self, *_):
        self.ends.close()

    @staticmethod
    def kill(process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def end(self):
        with contextlib.suppress(Refused, OSError):
            self.ask("DELETE", self.base)

    # The protocol

    def is_ready(self):
        with contextlib.suppress(OSError):
            return self.ask("GET", "/status")["ready"]

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.patience)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json"})
            reply = connection.getresponse()
            value = json.loads(reply.read())["value"]
        finally:
            connection.close()
        if reply.status >= 400:
            raise Refused(f"{value['error']}: {value['message'][:300]}")
        return value

    def post(self, path, body):
        return self.ask("POST", self.base + path, body)

    def wait(self, is_so, message):
        return wait_until(is_so, message)

    # What a person does

    def go(self, url):
        self.post("/url", {"url": url})

    def run(self, script, *arguments):
        """Runs the body of a function in the page."""
        return self.post("/execute/sync", {"script": script, "args": list(arguments)})

    def until(self, script, *arguments):
        """Waits until an expression is true in the page."""
        return self.wait(lambda: self.run(f"return {script}", *arguments), f"never: {script} {arguments}")

    def find(self, selector, text=None):
        """Waits for an element that is shown, by its selector and, where one is given, its whole text."""
        script = """const [selector, text] = arguments;
            return [...document.querySelectorAll(selector)].find(element =>
                element.getClientRects().length > 0 && (text === null || element.textContent.trim() === text)) ?? null"""
        return self.wait(lambda: self.run(script, selector, text), f"never: {selector} {text or ''}")[ELEMENT]

    def click(self, selector, text=None, held=None):
        element = {ELEMENT: self.find(selector, text)}
        pointer = [{"type": "pointerMove", "duration": 0, "origin": element, "x": 0, "y": 0},
                   {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        sources = [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": pointer}]
        if held:
            # Both sources take one step after the other, in the same time.
            keys = [{"type": "keyDown", "value": held}, *[{"type": "pause"}] * len(pointer), {"type": "keyUp", "value": held}]
            sources[0]["actions"] = [{"type": "pause"}, *pointer, {"type": "pause"}]
            sources.insert(0, {"type": "key", "id": "keys", "actions": keys})
        self.post("/actions", {"actions": sources})

    def press(self, key):
        value = KEYS.get(key, key)
        self.post("/actions", {"actions": [{"type": "key", "id": "keys", "actions": [
            {"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]}]})

    def type(self, selector, text):
        self.post(f"/element/{self.find(selector)}/value", {"text": text})

    def choose(self, selector, files):
        """Gives files to an input that the page keeps hidden."""
        found = self.wait(lambda: self.run("return document.querySelector(arguments[0])", selector), f"never: {selector}")
        self.post(f"/element/{found[ELEMENT]}/value", {"text": "\n".join(map(str, files))})

    def picture(self, path):
        """Writes what is on the screen as PNG. The driver's own screenshots never come without a graphics processor."""
        content = (self.home / "Xvfb_screen0").read_bytes()
        fields = struct.unpack(">25I", content[:100])
        start, width, height, line = fields[0] + 12 * fields[19], fields[4], fields[5], fields[12]
        rows = []
        for number in range(height):
            row = content[start + number * line:start + number * line + 4 * width]
            red_green_blue = bytearray(3 * width)
            for place in range(3):
                red_green_blue[place::3] = row[2 - place::4]
            rows.append(bytes(red_green_blue))
        path.write_bytes(mock_server.png(width, height, rows))

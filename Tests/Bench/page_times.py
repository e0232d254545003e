"""Uses the gallery's page in Chromium and prints what it took, as JSON. gallery.py runs it in Playwright's Python.

    page_times.py first-row URL MANY ALBUM     from the login to the first row of an album
    page_times.py scroll URL MANY              scrolls a view of MANY photos from end to end

The password is the first line of the standard input. What is timed is timed in the page, by its own clock.
"""
from __future__ import annotations

import json
import os
import sys

from playwright.sync_api import Browser, Page, sync_playwright

from measuring import peak_bytes

MIB = 1 << 20
PATIENCE = 120_000

# Opens the album as soon as its card shows, and looks in each frame whether the first row is complete.
FIRST_ROW = """name => {
    window.bench = {};
    const isShown = tile => {
        const image = tile.querySelector("img");
        return image?.complete && image.naturalWidth > 0;
    };
    const look = () => {
        if (!bench.opened) {
            const card = [...document.querySelectorAll(".card")]
                .find(card => card.querySelector(".card-name").textContent === name);
            if (card) { bench.opened = performance.now(); card.click(); }
        }
        const tiles = [...document.querySelectorAll(".tile")];
        const top = Math.min(...tiles.map(tile => tile.getBoundingClientRect().top));
        const row = tiles.filter(tile => tile.getBoundingClientRect().top < top + 2);
        if (row.length > 0 && row.every(isShown)) bench.shown = performance.now();
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
    addEventListener("keydown", event => { if (event.key === "Enter") bench.entered ??= performance.now() }, true);
}"""

OBSERVE = """() => {
    window.bench = { tasks: [] };
    new PerformanceObserver(list => bench.tasks.push(...list.getEntries().map(entry => entry.duration)))
        .observe({ entryTypes: ["longtask"] });
}"""

# First to the end in 600 steps, then slowly through the first photos, then back in long jumps.
SCROLL = """async () => {
    const result = { tasks: 0, elements: 0, heap: 0 };
    const end = document.documentElement.scrollHeight - innerHeight;
    const places = [];
    for (let step = 0; step <= 600; step += 1) places.push(end * step / 600);
    for (let step = 0; step <= 300; step += 1) places.push(step * 150);
    for (let step = 100; step >= 0; step -= 1) places.push(end * step / 100);
    bench.tasks.length = 0;
    for (const place of places) {
        scrollTo(0, place);
        await new Promise(requestAnimationFrame);
        result.elements = Math.max(result.elements, document.getElementsByTagName("*").length);
        result.heap = Math.max(result.heap, performance.memory.usedJSHeapSize);
    }
    await new Promise(done => setTimeout(done, 500));
    result.tasks = Math.max(0, ...bench.tasks);
    return result;
}"""


def log_in(page: Page, url: str, password: str, prepare: str, argument: str | None = None) -> None:
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    page.wait_for_selector("input[type=password]")
    page.evaluate(prepare, argument)
    page.fill("input[type=password]", password)
    page.keyboard.press("Enter")


def first_row(page: Page, url: str, password: str, album: str) -> dict[str, float]:
    log_in(page, url, password, FIRST_ROW, album)
    page.wait_for_function("() => bench.shown")
    times = page.evaluate("""() => {
        const login = performance.getEntriesByType("resource").find(entry => entry.name.endsWith("/api/login"));
        return { ...bench, replied: login.responseEnd };
    }""")
    return {"login": times["replied"] - times["entered"], "first-row": times["shown"] - times["replied"]}


def scroll(browser: Browser, page: Page, url: str, password: str, count: int) -> dict[str, float]:
    log_in(page, url, password, OBSERVE)
    page.wait_for_selector("nav [aria-current]")
    page.click("nav button >> nth=1")
    page.wait_for_selector(".tile img")
    # The view says how many it has, and its height is final when the last of them has come.
    height = 0
    while height != (height := page.evaluate("document.documentElement.scrollHeight")):
        page.wait_for_timeout(2000)
    shown = int("".join(filter(str.isdigit, page.locator(".subtitle").inner_text())) or 0)
    if shown != count:
        raise SystemExit(f"the page shows {shown} photos instead of {count}")
    opening = page.evaluate("Math.max(0, ...bench.tasks)")
    found = page.evaluate(SCROLL)
    page.wait_for_selector(".tile img")
    return {"open-many": opening, "scroll": found["tasks"], "elements": found["elements"],
            "heap": found["heap"] / MIB, "page-memory": renderer_peak(browser) / MIB}


def renderer_peak(browser: Browser) -> float:
    """The most memory of the process that draws the page."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return max(peak_bytes(process["id"]) for process in processes if process["type"] == "renderer")


def main(task: str, url: str, many: str, *names: str) -> None:
    password = sys.stdin.readline().rstrip("\n")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"),
            # Only root needs no sandbox. Without the second option a page sees its memory in coarse steps.
            args=["--no-sandbox", "--enable-precise-memory-info"])
        page = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB",
                                   ignore_https_errors=True).new_page()
        if task == "first-row":
            found = first_row(page, url, password, *names)
        else:
            found = scroll(browser, page, url, password, int(many))
        browser.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])

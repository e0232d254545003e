#!/usr/bin/env python3
"""Uses the gallery's page in Chromium as a person does, on a desktop and on a phone.

Without options it starts the mock server. With --url and --password it uses a real gallery, in albums that it
makes and deletes; what needs failures on request is then left out. --only PATTERN runs the tests whose
names match, --pictures DIR keeps a screenshot of every test. Needs Playwright for Python and a Chromium:
CHROMIUM is its path, /usr/bin/chromium otherwise.
"""

import argparse
import os
import re
import secrets
import struct
import sys
import traceback
from pathlib import Path

import axe_core_python
from playwright.sync_api import TimeoutError as Late
from playwright.sync_api import expect, sync_playwright

import mock_server
from real_gallery import CHROMIUM

DESKTOP = {"viewport": {"width": 1280, "height": 800}, "locale": "en-GB"}
PHONE = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2, "has_touch": True, "is_mobile": True,
         "locale": "de-DE"}
LARGE = {"viewport": {"width": 3840, "height": 2160}, "locale": "en-GB"}
PATIENCE = int(os.environ.get("PAGE_TEST_PATIENCE", "60")) * 1000
tests = []


def test(view=DESKTOP, mock=False):
    def register(action):
        tests.append((action, view, mock))
        return action
    return register


class Person:
    """What a person does on the page."""

    def __init__(self, browser, view, url, password):
        self.context = browser.new_context(**view, ignore_https_errors=True, accept_downloads=True)
        self.context.set_default_timeout(PATIENCE)
        self.url, self.password, self.touch = url, password, view is PHONE
        self.pictures = None
        self.page = self.context.new_page()
        self.errors = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.errors.append(message.text)
                     if message.type == "error" and "Failed to load resource" not in message.text else None)

    def mock(self, **settings):
        self.context.request.post(f"{self.url}mock", data=settings)

    def picture(self, path):
        try:
            self.page.screenshot(path=str(path))
        except Late:
            print(f"      no picture {path.name}", flush=True)

    def keep(self, name):
        """A picture in the middle of a test."""
        if self.pictures:
            self.picture(Path(self.pictures) / f"{name}.png")

    def press(self, selector, **options):
        target = self.page.locator(selector).first
        target.tap(**options) if self.touch else target.click(**options)

    def enter(self, password=None):
        self.page.goto(self.url)
        self.log_in(password or self.password)
        self.page.wait_for_selector("nav [aria-current]")

    def log_in(self, password):
        self.page.fill("input[type=password]", password)
        self.page.keyboard.press("Enter")

    def place(self, number):
        self.press(f"nav button >> nth={number}")

    def menu(self, text):
        self.press(".top-bar [aria-haspopup=menu]")
        self.press(f"[role=menuitem]:text-matches('{text}')")

    def open_album(self, name):
        self.press(f".card:has(.card-name:text-is('{name}'))")
        expect(self.page.locator("h1 .crumb-here")).to_have_text(name)

    def new_album(self):
        name = "Page test " + secrets.token_hex(4)
        self.menu("New album|Neues Album")
        self.page.fill("dialog input", name)
        self.press("dialog .main")
        self.page.wait_for_selector("dialog", state="detached")
        self.open_album(name)
        return name

    def delete_album(self):
        self.menu("Delete album|Album löschen")
        self.press("dialog .danger")
        self.page.wait_for_selector("dialog", state="detached")

    def choose(self, files):
        with self.page.expect_file_chooser() as chooser:
            self.press(".upload-button")
        chooser.value.set_files(files)

    def upload(self, files):
        self.choose(files)
        self.press(".upload-buttons .main")
        self.uploaded(len(files))

    def uploaded(self, count):
        self.page.wait_for_function(
            "n => document.querySelector('.upload-panel h2')?.textContent.match(/saved|gespeichert/)"
            " && document.querySelector('.upload-panel h2').textContent.includes(n)", arg=str(count))
        self.press(".upload-buttons .main")

    def tiles(self, count):
        expect(self.page.locator(".tile")).to_have_count(count)

    def viewing(self, name):
        expect(self.page.locator(".viewer-caption strong")).to_have_text(name)


def pictures(count, start=0, size=(300, 200)):
    return [{"name": f"Test {number + 1}.png", "mimeType": "image/png",
             "buffer": mock_server.landscape(number, *size) + b"end %d" % number}
            for number in range(start, start + count)]


@test()
def a_wrong_password_is_refused_and_the_right_one_opens_the_albums(person):
    page = person.page
    page.goto(person.url)
    field = page.locator("input[type=password]")
    expect(field).to_be_focused()
    assert field.get_attribute("autocomplete") == "one-time-code"
    person.log_in("this is not it")
    expect(page.locator(".login-message")).to_have_text("Wrong password.")
    expect(field).to_have_value("")
    person.log_in(person.password)
    expect(page.locator("h1")).to_have_text("Albums")
    # A screen reader says where the person is now.
    expect(page.locator("h1")).to_be_focused()


@test()
def albums_are_made_nested_renamed_moved_and_deleted(person):
    page = person.page
    person.enter()
    outer = person.new_album()
    inner = person.new_album()
    expect(page.locator("h1 .crumb")).to_have_text(outer)
    person.menu("Rename album")
    page.fill("dialog input", inner + " renamed")
    person.press("dialog .main")
    expect(page.locator("h1 .crumb-here")).to_have_text(inner + " renamed")
    person.menu("New album")
    page.fill("dialog input", "a/b")
    person.press("dialog .main")
    expect(page.locator("dialog .problem")).to_have_text("This name is not possible.")
    page.keyboard.press("Escape")
    person.menu("Move album")
    person.press("dialog .album-option >> nth=0")
    person.press("dialog .main")
    expect(page.locator("h1 .crumb")).to_have_count(0)
    person.upload(pictures(2))
    person.menu("Delete album")
    expect(page.locator("dialog p")).to_contain_text("2 photos")
    person.press("dialog .danger")
    person.press(".toast-button:text-is('Undo')")
    person.open_album(inner + " renamed")
    person.delete_album()
    person.open_album(outer)
    person.delete_album()
    expect(page.locator(f".card:has-text('{outer}')")).to_have_count(0)


@test()
def files_are_previewed_uploaded_and_told_apart_when_they_come_again(person):
    page = person.page
    person.enter()
    person.new_album()
    person.choose(pictures(4))
    expect(page.locator(".upload-panel h2")).to_have_text("4 files to upload")
    expect(page.locator(".upload-preview canvas")).to_have_count(4)
    expect(page.locator(".upload-about").first).to_contain_text("PNG")
    person.press(".upload-remove >> nth=3")
    person.press(".upload-buttons .main")
    person.uploaded(3)
    person.tiles(3)
    person.choose(pictures(4))
    person.press(".upload-buttons .main")
    expect(page.locator(".upload-detail")).to_have_text("1 saved · 3 already there")
    person.press(".upload-buttons .main")
    person.tiles(4)
    other = [{"name": "Test 1.png", "mimeType": "image/png", "buffer": mock_server.landscape(11, 300, 200)}]
    person.choose(other)
    person.press(".upload-buttons .main")
    expect(page.locator(".upload-about").first).to_contain_text("as Test 1")
    person.press(".upload-buttons .main")
    person.tiles(5)
    person.delete_album()


@test()
def a_folder_that_is_picked_becomes_albums(person):
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"page-test-{secrets.token_hex(4)}" / "Trip"
    (folder / "Day 2").mkdir(parents=True)
    for number, path in enumerate([folder / "a.png", folder / "Day 2" / "b.png", folder / ".DS_Store"]):
        path.write_bytes(mock_server.landscape(number, 90, 60))
    person.enter()
    person.new_album()
    with person.page.expect_file_chooser() as chooser:
        person.menu("Upload a folder")
    chooser.value.set_files(folder)
    expect(person.page.locator(".upload-panel h2")).to_have_text("2 files to upload")
    person.press(".upload-buttons .main")
    person.uploaded(2)
    person.open_album("Trip")
    person.tiles(1)
    person.open_album("Day 2")
    person.tiles(1)
    person.press(".crumb >> nth=0")
    person.delete_album()


@test(mock=True)
def an_upload_survives_lost_connections(person):
    person.enter()
    person.new_album()
    person.mock(dropUploads=0.3)
    person.upload(pictures(3, size=(900, 600)) + [
        {"name": "long.png", "mimeType": "image/png", "buffer": mock_server.landscape(5, 60, 40) + os.urandom(6 << 20)}])
    person.mock(dropUploads=0)
    person.tiles(4)
    person.delete_album()


@test(mock=True)
def an_upload_continues_after_the_page_was_reloaded(person):
    page = person.page
    file = [{"name": "long.png", "mimeType": "image/png",
             "buffer": mock_server.landscape(5, 60, 40) + secrets.token_bytes(9 << 20)}]
    person.enter()
    name = person.new_album()
    # Playwright gives a picked file the time of now, so the test fixes it.
    page.add_init_script("Object.defineProperty(File.prototype, 'lastModified', { get: () => 1700000000000 })")
    page.reload()
    person.open_album(name)
    person.mock(slow=700)
    person.choose(file)
    person.press(".upload-buttons .main")
    page.wait_for_function("() => document.querySelector('.upload-detail').textContent.match(/^[2-9].* MB of/)")
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()
    person.mock(slow=0)
    person.open_album(name)
    sent = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "PUT" else None)
    person.upload(file)
    assert 0 < len(sent) < 9, f"{len(sent)} slices were sent again"
    person.tiles(1)
    person.delete_album()


@test(mock=True)
def a_full_disk_stops_the_upload_until_the_person_goes_on(person):
    person.enter()
    person.new_album()
    person.mock(full=True)
    person.choose(pictures(2))
    person.press(".upload-buttons .main")
    expect(person.page.locator(".upload-panel h2")).to_have_text("The disk is full")
    person.mock(full=False)
    person.press(".upload-buttons .main")
    person.uploaded(2)
    person.delete_album()


@test()
def the_viewer_goes_through_photos_by_keyboard_and_back_leads_to_the_grid(person):
    page = person.page
    person.enter()
    person.new_album()
    person.upload(pictures(3))
    person.tiles(3)
    page.wait_for_selector(".tile img")
    page.locator(".tile").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    person.viewing("Test 2.png")
    page.wait_for_selector(".slide:not([aria-hidden]) .preview")
    page.keyboard.press("ArrowRight")
    person.viewing("Test 3.png")
    page.keyboard.press("ArrowRight")
    person.viewing("Test 3.png")
    page.keyboard.press("Home")
    person.viewing("Test 1.png")
    page.keyboard.press("+")
    page.wait_for_selector(".zoomed")
    page.keyboard.press("0")
    page.wait_for_selector(".zoomed", state="detached")
    page.keyboard.press("i")
    expect(page.locator(".viewer-info dl")).to_contain_text("300 × 200")
    person.keep("viewer-info")
    page.keyboard.press("o")
    page.wait_for_selector(".slide .original")
    page.go_back()
    page.wait_for_selector(".viewer", state="detached")
    expect(page.locator(".tile").first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_selector(".viewer")
    page.keyboard.press("Escape")
    page.wait_for_selector(".viewer", state="detached")
    person.delete_album()


@test(mock=True)
def the_original_and_the_zoom_stay_when_the_details_of_a_photo_arrive(person):
    page = person.page
    person.enter()
    name = person.new_album()
    person.upload(pictures(3))
    person.tiles(3)
    person.press(".tile >> nth=1")
    page.wait_for_selector(".slide:not([aria-hidden]) .preview")
    page.keyboard.press("o")
    page.wait_for_selector(".slide:not([aria-hidden]).zoomed .original")
    page.evaluate("window.before = document.querySelector('.slide:not([aria-hidden])')")
    person.mock(redraw=name)
    page.wait_for_function("() => !window.before.isConnected")
    page.wait_for_selector(".slide:not([aria-hidden]).zoomed .original")
    # A photo that nobody asked for has only its preview.
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(".slide:not([aria-hidden]) .preview")
    expect(page.locator(".slide:not([aria-hidden]) .original")).to_have_count(0)
    page.keyboard.press("Escape")
    person.delete_album()


@test(mock=True)
def a_photo_whose_thumbnail_is_being_made_says_so_with_its_name(person):
    page = person.page
    person.enter()
    name = person.new_album()
    person.upload(pictures(2))
    expect(page.locator(".tile img")).to_have_count(2)
    person.mock(unmade=name)
    expect(page.locator(".tile .tile-name")).to_have_count(2)
    expect(page.locator(".tile-name").first).to_have_text("Test 1.pngBeing made…")
    person.keep("being-made")
    # It opens as any other, and the thumbnail takes its place.
    person.press(".tile >> nth=1")
    person.viewing("Test 2.png")
    page.keyboard.press("Escape")
    person.mock(redraw=name)
    expect(page.locator(".tile img")).to_have_count(2)
    expect(page.locator(".tile-name")).to_have_count(0)
    person.delete_album()


@test()
def names_with_signs_that_nobody_sees_read_as_what_they_are(person):
    page = person.page
    person.enter()
    name = "Page test " + secrets.token_hex(4) + " \u202egpj.exe"
    seen = name.replace("\u202e", "‹U+202E›")
    person.menu("New album")
    page.fill("dialog input", name)
    person.press("dialog .main")
    page.wait_for_selector("dialog", state="detached")
    card = page.locator(f".card-name:text-is('{seen}')")
    expect(card).to_have_attribute("title", seen)
    expect(card).to_have_css("unicode-bidi", "isolate")
    person.open_album(seen)
    files = pictures(2)
    files[0]["name"], files[1]["name"] = "Bill \u202egnp.exe.png", "שלום 1.png"
    person.choose(files)
    expect(page.locator(".upload-target")).to_contain_text(seen)
    expect(page.locator(".upload-name").first).to_have_text("Bill ‹U+202E›gnp.exe.png")
    expect(page.locator(".upload-name").nth(1)).to_have_text("\u2068שלום 1.png\u2069")
    person.press(".upload-buttons .main")
    person.uploaded(2)
    expect(page.locator(".tile[aria-label^='Bill ‹U+202E›gnp.exe.png, ']")).to_have_count(1)
    expect(page.locator(".tile[aria-label^='\u2068שלום 1.png\u2069, ']")).to_have_count(1)
    person.press(".tile[aria-label^='Bill']")
    person.viewing("Bill ‹U+202E›gnp.exe.png")
    expect(page.locator(".slide:not([aria-hidden]) img.preview")).to_have_attribute("alt", "Bill ‹U+202E›gnp.exe.png")
    page.keyboard.press("i")
    expect(page.locator(".name-line")).to_contain_text("Bill ‹U+202E›gnp.exe.png")
    person.keep("names")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    person.menu("Delete album")
    expect(page.locator("dialog h2")).to_have_text(f"Delete “{seen}”?")
    person.press("dialog .danger")
    page.wait_for_selector("dialog", state="detached")


@test()
def a_photo_is_renamed_made_the_cover_and_deleted_in_the_viewer(person):
    page = person.page
    person.enter()
    person.new_album()
    person.upload(pictures(3))
    person.press(".tile >> nth=1")
    person.viewing("Test 2.png")
    person.press(".viewer-actions button[title='Make this the cover']")
    expect(page.locator(".toast").last).to_contain_text("cover")
    page.keyboard.press("i")
    person.press(".viewer-info button[title=Rename]")
    page.fill("dialog input", "Better.png")
    person.press("dialog .main")
    person.viewing("Better.png")
    page.keyboard.press("Delete")
    expect(page.locator(".viewer-caption strong")).not_to_have_text("Better.png")
    person.press(".toast-button:text-is('Undo')")
    page.keyboard.press("Escape")
    person.tiles(3)
    person.delete_album()


@test(mock=True)
def a_photo_is_rotated(person):
    page = person.page
    person.enter()
    person.new_album()
    person.upload(pictures(1))
    person.press(".tile")
    page.wait_for_selector(".slide .preview")
    wide = page.locator(".picture").bounding_box()
    page.keyboard.press("r")
    page.wait_for_function("() => { const box = document.querySelector('.picture')?.getBoundingClientRect();"
                           " return box && box.height > box.width }")
    assert wide["width"] > wide["height"]
    page.keyboard.press("Escape")
    person.delete_album()


@test(mock=True)
def a_video_plays(person):
    page = person.page
    person.enter()
    person.place(1)
    person.press(".tile.video")
    page.wait_for_selector(".slide video")
    with page.expect_request(lambda request: request.url.endswith("/api/session")):
        page.keyboard.press(" ")
    # A video that plays counts as use, so the session does not lock.
    page.wait_for_function("() => document.querySelector('.slide video').currentTime > 0.1")
    # New thumbnails and dates do not begin it anew.
    page.evaluate("window.video = document.querySelector('.slide video'); video.loop = true; void video.play()")
    version = page.locator(".tile.video").first.get_attribute("data-version")
    person.mock(redraw="*")
    expect(page.locator(".tile.video").first).not_to_have_attribute("data-version", version)
    page.wait_for_timeout(300)
    assert page.evaluate("video.isConnected && !video.paused")
    page.keyboard.press("Escape")
    page.wait_for_selector("video", state="detached")


@test()
def photos_are_selected_with_mouse_and_keyboard_and_deletion_can_be_undone(person):
    page = person.page
    person.enter()
    person.new_album()
    person.upload(pictures(6))
    person.tiles(6)
    count = page.locator(".selection-bar strong")
    person.press(".tile >> nth=1", modifiers=["Control"])
    person.press(".tile >> nth=4", modifiers=["Shift"])
    expect(count).to_have_text("4 selected")
    page.keyboard.press("Escape")
    expect(page.locator(".selection-bar")).to_be_hidden()
    page.locator(".tile").first.focus()
    page.keyboard.press("Shift+ArrowRight")
    expect(count).to_have_text("2 selected")
    page.keyboard.press("Control+a")
    expect(count).to_have_text("6 selected")
    page.keyboard.press("Escape")
    box = page.locator(".tile").first.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 40, box["y"] + 60, steps=5)
    page.mouse.up()
    expect(count).to_have_text("2 selected")
    page.keyboard.press("Delete")
    person.tiles(4)
    person.press(".toast-button:text-is('Undo')")
    person.tiles(6)
    expect(page.locator(".toast").last).to_contain_text("Nothing was deleted")
    person.delete_album()


def delete_two(person):
    """Makes an album of three photos, deletes two, and goes to where they are."""
    name = person.new_album()
    person.upload(pictures(3))
    person.tiles(3)
    for number in (0, 1):
        person.press(f".tile >> nth={number}", modifiers=["Control"])
    person.mock(undoTime=0)
    person.page.keyboard.press("Delete")
    expect(person.page.locator(".toast").last).to_contain_text("2 items deleted")
    person.mock(undoTime=40)
    person.place(0)
    person.press(".to-deleted")
    expect(person.page.locator("h1 .crumb-here")).to_have_text(re.compile("Recently deleted|Zuletzt gelöscht"))
    return name


@test()
def deleted_photos_are_seen_restored_and_deleted_for_good_with_the_password(person):
    page = person.page
    person.enter()
    name = delete_two(person)
    cards = page.locator(".deleted .card")
    before = cards.count()
    expect(cards.first.locator(".card-count")).to_have_text("30 days left")
    expect(cards.first.locator("img")).to_be_visible()
    person.press(".deleted .card >> nth=0")
    person.press("button:text-is('Restore 1')")
    expect(cards).to_have_count(before - 1)
    expect(page.locator(".toast").last).to_contain_text("1 file restored")
    person.press(".deleted .card >> nth=0")
    person.press("button:text-is('Delete 1 for good')")
    page.fill("dialog input", "not the password")
    person.press("dialog .danger")
    expect(page.locator("dialog .problem")).to_have_text("Wrong password.")
    expect(page.locator("dialog input")).to_have_value("")
    expect(cards).to_have_count(before - 1)
    page.fill("dialog input", person.password)
    person.press("dialog .danger")
    page.wait_for_selector("dialog", state="detached")
    expect(cards).to_have_count(before - 2)
    person.keep("recently-deleted")
    page.go_back()
    person.open_album(name)
    person.tiles(2)
    person.delete_album()


@test(mock=True)
def of_very_many_deleted_photos_one_far_down_is_chosen_and_restored_by_keyboard(person):
    page = person.page
    person.enter("wasted")
    person.press(".to-deleted")
    cards = page.locator(".deleted .card")
    expect(cards).to_have_count(300)
    expect(page.locator(".top-bar")).to_contain_text("2,000 files")
    page.locator("button:text-is('Show more')").focus()
    page.keyboard.press("Enter")
    expect(cards).to_have_count(600)
    expect(cards.nth(300)).to_be_focused()
    page.keyboard.press("Space")
    expect(cards.nth(300)).to_have_attribute("aria-pressed", "true")
    button = page.locator("button:text-is('Restore 1')")
    expect(button).to_be_in_viewport(ratio=1)
    assert button.evaluate("""button => {
        const { x, y, width, height } = button.getBoundingClientRect();
        return button.contains(document.elementFromPoint(x + width / 2, y + height / 2));
    }"""), "something covers the button"
    button.press("Enter")
    expect(page.locator(".toast").last).to_contain_text("1 file restored")
    expect(page.locator(".top-bar")).to_contain_text("1,999 files")
    expect(page.locator("button:text-is('Restore all')")).to_be_focused()


@test(PHONE, mock=True)
def a_phone_finds_recently_deleted_below_the_albums_in_german(person):
    page = person.page
    person.enter()
    person.press(".to-deleted")
    expect(page.locator("h1 .crumb-here")).to_have_text("Zuletzt gelöscht")
    expect(page.locator("nav button >> nth=0")).to_have_attribute("aria-current", "page")
    width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1], f"the page is wider than the phone: {width}"
    person.press(".bar-start button")
    expect(page.locator("h1 .crumb-here")).to_have_text("Alben")


@test(mock=True)
def a_read_only_space_shows_what_was_deleted_and_offers_nothing(person):
    page = person.page
    person.enter("fixed")
    person.press(".to-deleted")
    expect(page.locator(".deleted .empty h2")).to_have_text("Nothing was deleted")
    expect(page.locator(".deleted-bar button")).to_have_count(0)


@test(mock=True)
def copies_are_deleted_and_one_of_each_stays(person):
    page = person.page
    person.enter("twice")
    person.press(".to-duplicates")
    expect(page.locator("h1 .crumb-here")).to_have_text("Duplicates")
    expect(page.locator(".top-bar")).to_contain_text("2 photos more than once")
    cards = page.locator(".copy-set .card")
    expect(cards).to_have_count(5)
    for number, pressed in enumerate(["false", "true", "false", "false", "true"]):
        expect(cards.nth(number)).to_have_attribute("aria-pressed", pressed)
    expect(cards.nth(2)).to_contain_text("Same picture · 1,500 × 1,000")
    expect(cards.nth(0).locator("img")).to_be_visible()
    person.keep("duplicates")
    # The one that would be the last stays.
    cards.nth(3).click()
    expect(page.locator(".toast").last).to_contain_text("One of them stays.")
    expect(cards.nth(3)).to_have_attribute("aria-pressed", "false")
    cards.nth(4).click()
    cards.nth(2).focus()
    page.keyboard.press("Space")
    person.mock(undoTime=0)
    person.press("button:text-matches('^Delete: 2')")
    expect(page.locator(".toast").last).to_contain_text("2 items deleted")
    expect(cards).to_have_count(2)
    # What was taken out of the selection is not selected again.
    expect(cards.nth(1)).to_have_attribute("aria-pressed", "false")
    cards.nth(1).click()
    person.press("button:text-matches('^Delete: 1')")
    expect(page.locator(".deleted .empty h2")).to_have_text("Nothing is there twice")
    person.mock(undoTime=40)
    person.press(".bar-start button")
    expect(page.locator("h1 .crumb-here")).to_have_text("Albums")


@test(PHONE, mock=True)
def a_phone_shows_the_duplicates_of_a_read_only_space_in_german_and_deletes_none(person):
    page = person.page
    person.enter("twice-fixed")
    person.press(".to-duplicates")
    expect(page.locator("h1 .crumb-here")).to_have_text("Doppelte")
    expect(page.locator(".copy-set .card").first).to_contain_text("Bleibt")
    expect(page.locator(".copy-set .card")).to_have_count(5)
    expect(page.locator(".copy-set .card[aria-pressed=true]")).to_have_count(0)
    expect(page.locator(".deleted-bar button")).to_have_count(0)
    width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1], f"the page is wider than the phone: {width}"
    person.keep("duplicates-phone")


@test(mock=True)
def the_details_of_a_photo_have_its_earlier_version(person):
    page = person.page
    person.enter()
    person.open_album("Birds")
    name = page.locator(".tile").first.get_attribute("aria-label").split(",")[0]
    person.mock(overwrite=name)
    person.press(".tile >> nth=0")
    page.keyboard.press("i")
    line = page.locator(".viewer-info .earlier li")
    expect(line).to_have_count(1)
    expect(line).to_contain_text("30 days left")
    person.press(".viewer-info .earlier button")
    expect(line).to_have_count(0)
    expect(page.locator(".toast").last).to_contain_text("1 file restored")


@test(mock=True)
def what_is_shown_already_does_not_fade_in_again_when_something_else_changes(person):
    page = person.page
    person.enter()
    person.new_album()
    person.upload(pictures(6))
    person.tiles(6)
    page.wait_for_function("() => [...document.querySelectorAll('.tile')].every(tile => tile.querySelector('img'))")

    def settled():
        page.wait_for_function("() => document.getAnimations().every(each => each.playState !== 'running'"
                               " || each.animationName !== 'appear')")
        page.evaluate("""() => {
            window.faded = 0;
            addEventListener("animationstart", event => { if (event.animationName === "appear") window.faded += 1; });
        }""")

    settled()
    person.press(".tile >> nth=1", modifiers=["Control"])
    page.keyboard.press("Delete")
    person.tiles(5)
    page.wait_for_timeout(300)
    assert page.evaluate("window.faded") == 0
    person.press(".toast-button:text-is('Undo')")
    person.tiles(6)
    person.place(0)
    page.wait_for_selector(".card img")
    settled()
    page.evaluate("document.querySelectorAll('.card img').forEach(image => { image.seen = true })")
    count = page.locator(".card:has(.card-name:text-is('Birds')) .card-count")
    before = count.inner_text()
    person.mock(touch="Birds")
    expect(count).not_to_have_text(before)
    again = page.evaluate("[...document.querySelectorAll('.card img')].filter(image => !image.seen).length")
    assert again == 0, f"{again} covers were drawn again"
    assert page.evaluate("window.faded") == 0


@test()
def photos_are_copied_and_moved_to_another_album(person):
    page = person.page
    person.enter()
    outer = person.new_album()
    person.upload(pictures(3))
    inner = person.new_album()
    page.go_back()
    person.tiles(3)
    for action, left in (("Copy", 3), ("Move", 2)):
        person.press(".tile >> nth=0", modifiers=["Control"])
        person.press(f".selection-bar button[title={action}]")
        page.fill("dialog input[type=search]", inner)
        person.press("dialog .album-option")
        person.press("dialog .main")
        expect(page.locator(".toast").last).to_contain_text("1 photo")
        person.tiles(left)
    person.open_album(inner)
    person.tiles(2)
    person.press(f".crumb:text-is('{outer}')")
    person.delete_album()


@test(mock=True)
def errors_of_single_photos_are_listed_at_the_end(person):
    page = person.page
    person.enter()
    person.open_album("Garden 2")
    page.wait_for_selector(".tile")
    person.mock(failJobs=1)
    person.press(".tile >> nth=0", modifiers=["Control"])
    person.press(".tile >> nth=2", modifiers=["Control"])
    person.press(".selection-bar button[title=Copy]")
    person.press("dialog .album-option >> nth=0")
    person.press("dialog .main")
    person.press(".toast-button:text-is('Show')")
    expect(page.locator("dialog li")).to_have_count(2)
    expect(page.locator("dialog li").first).to_contain_text("The file is damaged.")
    page.keyboard.press("Escape")
    person.mock(failJobs=0)


@test(mock=True)
def pictures_are_imported_from_addresses_by_the_server(person):
    page = person.page
    person.enter()
    person.new_album()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    person.menu("Import from addresses")
    field = page.get_by_label("Addresses of pictures and videos, one a line")
    expect(field).to_be_focused()
    field.fill("this is none")
    person.press("dialog .main")
    expect(page.locator("dialog [role=alert]")).to_contain_text("this is none: This is no address")
    expect(field).to_be_focused()
    field.fill("https://example.org/one.jpg\n\n  https://example.org/two.jpg\nhttp://localhost/three.jpg")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("dialog", state="detached")
    expect(page.locator(".toast")).to_contain_text("Importing")
    expect(page.locator(".toast")).to_contain_text("4.0 MB")
    expect(page.locator(".toast")).to_contain_text("1 of 3 failed")
    person.press(".toast-button:text-is('Show')")
    expect(page.locator("dialog li")).to_have_text("http://localhost/three.jpg: The address is not public.")
    page.keyboard.press("Escape")
    person.tiles(2)
    person.mock(slowLoad=1)
    person.menu("Import from addresses")
    field.fill("https://example.org/four.jpg")
    person.press("dialog .main")
    person.press(".toast-button:text-is('Cancel')")
    expect(page.locator(".toast")).to_contain_text("Cancelled.")
    person.mock(slowLoad=0.05)
    person.tiles(2)
    assert all(url.startswith((person.url, "blob:", "data:")) for url in asked), asked
    person.delete_album()


@test(PHONE, mock=True)
def a_phone_imports_from_addresses_in_german(person):
    page = person.page
    person.enter()
    person.new_album()
    person.menu("Von Adressen importieren")
    field = page.get_by_label("Adressen von Bildern und Videos, eine pro Zeile")
    field.fill("https://example.org/a-long-folder/with-a-long-name/and-more/eins.jpg")
    box = page.locator("dialog.dialog").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 360, box
    person.keep("import-dialog")
    person.press("dialog .main")
    expect(page.locator(".toast")).to_contain_text("1 Adresse importiert")
    person.tiles(1)
    person.delete_album()


@test()
def an_upload_says_what_a_phone_handed_out(person):
    page = person.page
    person.enter()
    person.new_album()

    def jpeg(*tags):
        """A JPEG with an iPhone's note."""
        entries = b"".join(struct.pack(">HHII", tag, 2, 4, 0x41414100) for tag in tags)
        note = b"Apple iOS\0\0\1MM" + struct.pack(">H", len(tags)) + entries
        segment = b"Exif\0\0" + note
        return b"\xff\xd8\xff\xe1" + struct.pack(">H", len(segment) + 2) + segment + secrets.token_bytes(20)

    heic = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + jpeg(0x11)[2:]
    files = [("IMG_1.HEIC", jpeg(1)), ("IMG_2.jpeg", jpeg(1)), ("IMG_3.JPG", jpeg(1)), ("IMG_4.HEIC", heic),
             ("IMG_5.HEIC", heic + b"5"), ("IMG_5.MOV", b"\0\0\0\x14ftypqt  " + secrets.token_bytes(20))]
    person.choose([{"name": name, "mimeType": "application/octet-stream", "buffer": content}
                   for name, content in files])
    for name, text in [("IMG_1.HEIC", "JPEG that the phone made of a HEIC"), ("IMG_2.jpeg", "perhaps made of a HEIC"),
                       ("IMG_3.JPG", "JPEG ·"), ("IMG_4.HEIC", "HEIC · Live Photo without its video"),
                       ("IMG_5.HEIC", "HEIC · Live Photo with its video"), ("IMG_5.MOV", "MOV ·")]:
        row = page.locator(f".upload-row:has(.upload-name:text-is('{name}'))")
        row.scroll_into_view_if_needed()
        expect(row.locator(".upload-about")).to_contain_text(text)
    expect(page.locator(".upload-row:has(.upload-name:text-is('IMG_3.JPG')) .upload-about")
           ).not_to_contain_text("HEIC")
    person.keep("upload-kinds")
    person.press(".upload-buttons .main")
    person.uploaded(6)
    person.delete_album()


@test()
def one_photo_downloads_as_it_is_and_several_as_a_zip_file(person):
    page = person.page
    person.enter()
    person.new_album()
    person.upload(pictures(3))
    # Photos of one upload arrive in no order.
    person.tiles(3)
    person.press(".tile >> nth=0", modifiers=["Control"])
    with page.expect_download() as one:
        person.press(".selection-bar button[title=Download]")
    assert one.value.suggested_filename == "Test 1.png"
    person.press(".tile >> nth=1")
    with page.expect_download() as several:
        person.press(".selection-bar button[title=Download]")
    assert several.value.suggested_filename == "Album.zip"
    page.keyboard.press("Escape")
    person.delete_album()


@test()
def nothing_stays_in_the_browser_and_locking_clears_the_page(person):
    page = person.page
    person.enter()
    name = person.new_album()
    person.upload(pictures(2))
    person.press(".tile")
    person.viewing("Test 1.png")
    traces = page.evaluate("""async () => [localStorage.length, sessionStorage.length,
        (await indexedDB.databases()).length, (await caches.keys()).length, document.title, location.href,
        typeof history.state, document.cookie]""")
    assert traces == [0, 0, 0, 0, "Album", person.url, "number", ""], traces
    page.keyboard.press("Escape")
    person.delete_album()
    person.press(".lock")
    page.wait_for_selector("input[type=password]")
    text = page.evaluate("document.documentElement.outerHTML")
    assert name not in text and "Test 1" not in text
    page.go_back()
    page.wait_for_selector("input[type=password]")
    page.goto(person.url)
    page.wait_for_selector("input[type=password]")


@test(mock=True)
def an_album_receives_from_phones_while_the_pin_is_shown(person):
    page = person.page
    person.enter()
    person.new_album()
    person.menu("Receive from phones")
    expect(page.locator(".reception-pin")).to_have_text("042137")
    expect(page.locator(".dialog .hint")).to_contain_text("192.0.2.7, 8443")
    expect(page.locator(".reception-state")).to_contain_text("Receiving 1 of 3")
    expect(page.locator(".reception-state")).to_have_text("3 saved")
    with page.expect_request(lambda request: request.url.endswith("/close")):
        person.press("dialog .main")
    page.wait_for_selector("dialog", state="detached")
    person.menu("Receive from phones")
    person.mock(reception="guessed")
    expect(page.locator(".reception-state")).to_contain_text("Too many wrong PINs")
    person.press("dialog .main")
    person.mock(reception=None)
    person.delete_album()


@test(mock=True)
def a_gallery_that_phones_cannot_reach_says_so_and_shows_no_pin(person):
    page = person.page
    person.enter()
    person.new_album()
    person.mock(loopback=True)
    with page.expect_request(lambda request: request.url.endswith("/close")):
        person.menu("Receive from phones")
    expect(page.locator("dialog")).to_contain_text("Phones cannot reach this gallery.")
    expect(page.locator(".reception-pin")).to_have_count(0)
    expect(page.locator(".reception-state")).to_have_count(0)
    person.press("dialog .main")
    page.wait_for_selector("dialog", state="detached")
    person.mock(loopback=False)
    person.delete_album()


@test(mock=True)
def a_session_that_ended_shows_the_login_and_no_photos(person):
    page = person.page
    person.enter()
    person.place(1)
    page.wait_for_selector(".tile img")
    person.mock(expire=True)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_selector("input[type=password]")
    expect(page.locator(".login-message")).to_have_text(
        "The session is over: the server was restarted, or it locked the album.")
    assert page.locator("img").count() == 0


@test(mock=True)
def an_upload_goes_on_after_the_server_was_restarted(person):
    page = person.page
    person.enter()
    name = person.new_album()
    person.mock(slow=300)
    person.choose(pictures(12))
    person.press(".upload-buttons .main")
    page.wait_for_function("() => document.querySelector('.upload-panel h2')?.textContent.match(/Uploading [1-9]/)")
    person.mock(expire=True)
    page.wait_for_selector("input[type=password]")
    expect(page.locator(".login-message")).to_contain_text("files are not saved yet")
    # Nobody reads names there, and other albums get nothing.
    expect(page.locator(".upload-panel")).to_have_count(0)
    person.keep("login-with-uploads")
    person.log_in("some")
    page.wait_for_function("() => document.querySelector('.upload-panel h2')?.textContent.match(/is saved|are saved/)")
    person.mock(slow=0)
    person.press(".upload-buttons .main")
    person.open_album(name)
    person.tiles(12)
    person.delete_album()


@test(mock=True)
def an_upload_does_not_go_on_in_another_space(person):
    page = person.page
    person.enter()
    person.new_album()
    person.mock(slow=300)
    person.choose(pictures(6))
    person.press(".upload-buttons .main")
    page.wait_for_function("() => document.querySelector('.upload-panel h2')?.textContent.includes('Uploading')")
    person.mock(expire=True)
    page.wait_for_selector("input[type=password]")
    person.mock(slow=0)
    person.log_in("empty")
    page.wait_for_selector(".empty")
    expect(page.locator(".upload-panel")).to_be_hidden()


@test(mock=True)
def what_could_not_be_loaded_is_tried_again_by_itself(person):
    page = person.page
    person.enter()
    person.context.set_offline(True)
    person.place(1)
    expect(page.locator(".empty p")).to_contain_text("The page tries again by itself.")
    person.context.set_offline(False)
    page.wait_for_selector(".tile")
    expect(page.locator(".empty")).to_have_count(0)


@test(mock=True)
def what_belongs_together_is_one_tile_whose_files_are_reached_one_by_one(person):
    page = person.page
    person.enter("groups")
    person.open_album("Day")
    person.tiles(4)
    expect(page.locator(".top-bar")).to_contain_text("4 photos")
    expect(page.locator(".tile:has(.tile-sign)")).to_have_text(["LIVE", "RAW+JPEG", ""])
    # A screen reader hears it.
    expect(page.locator(".tile[aria-label*='LIVE.HEIC']")).to_have_attribute("aria-label", re.compile("Live Photo"))
    person.keep("groups")
    page.hover(".tile.live")
    page.wait_for_function("() => document.querySelector('.tile-film.ready')?.currentTime > 0")
    # The film plays over the photo once, by a button and by a key.
    person.press(".tile.live")
    person.viewing("LIVE.HEIC")
    for play in (lambda: person.press(".viewer [title='Play the Live Photo']"), lambda: page.keyboard.press("l")):
        play()
        expect(page.locator(".viewer .live-film.ready")).to_have_count(1)
        play()
        expect(page.locator(".viewer .live-film")).to_have_count(0)
    # Each file is seen by itself, and the photo again.
    page.keyboard.press("i")
    expect(page.locator(".group-files li")).to_have_count(3)
    expect(page.locator(".group-files [aria-current]")).to_contain_text("LIVE.HEIC")
    person.keep("group-files")
    person.press(".group-files .link >> nth=1")
    person.viewing("LIVE.MOV")
    expect(page.locator(".slide:not([aria-hidden]) video[controls]")).to_have_count(1)
    expect(page.locator(".group-files [aria-current]")).to_contain_text("LIVE.MOV")
    expect(page.locator(".viewer [title='Play the Live Photo']")).to_be_hidden()
    person.press(".group-files .link >> nth=2")
    person.viewing("LIVE.xmp")
    expect(page.locator(".slide-file")).to_be_visible()
    page.keyboard.press("ArrowRight")
    person.viewing("PLAIN.jpg")
    expect(page.locator(".group-files")).to_have_count(0)
    page.keyboard.press("ArrowLeft")
    person.viewing("LIVE.HEIC")
    # One of them is deleted alone; the photo stays.
    person.press(".group-files li >> nth=1 >> button >> nth=2")
    expect(page.locator(".toast")).to_contain_text("1 file deleted")
    person.press(".toast-button:text-is('Undo')")
    page.keyboard.press("Escape")
    person.tiles(4)


@test(mock=True)
def photos_are_seen_by_the_towns_where_they_were_taken(person):
    page = person.page
    person.enter()
    person.press(".to-places")
    expect(page.locator(".top-bar")).to_contain_text("2 places")
    expect(page.locator(".card-name")).to_have_text(["Paris, France", "Oslo, Norway"])
    page.wait_for_function("() => document.querySelectorAll('.card .cover-image img').length === 2")
    person.keep("places")
    page.locator(".card").last.focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Oslo, Norway")
    page.wait_for_selector(".tile")
    page.go_back()
    expect(page.locator("h1")).to_have_text("Places")
    person.context.clear_cookies()
    person.enter("empty")
    person.press(".to-places")
    expect(page.locator(".empty h2")).to_have_text("No places")


@test(PHONE, mock=True)
def a_phone_shows_what_belongs_together_in_german(person):
    page = person.page
    person.enter("groups")
    person.open_album("Day")
    expect(page.locator(".tile[aria-label*='RAW.DNG']")).to_have_attribute("aria-label", re.compile("Raw mit seinem Bild"))
    person.keep("groups-phone")
    person.press(".tile[aria-label*='LIVE.HEIC']")
    person.press(".viewer [title='Live-Foto abspielen']")
    expect(page.locator(".viewer .live-film.ready")).to_have_count(1)
    person.press(".viewer [title='Informationen']")
    expect(page.locator(".group-files li")).to_have_count(3)
    person.keep("group-files-phone")


@test(mock=True)
def films_are_counted_as_films_and_show_their_length(person):
    page = person.page
    person.enter()
    person.place(1)
    expect(page.locator(".subtitle")).to_have_text(re.compile(r"^\d+ photos, \d+ videos, 1 other file$"))
    person.place(5)
    person.press(".chip:text-is('Videos')")
    expect(page.locator(".tile-length").first).to_have_text("1:15")


@test(mock=True)
def an_album_is_sorted_and_pictures_get_larger_and_smaller(person):
    page = person.page
    person.enter()
    person.open_album("Birds")
    first = page.locator(".tile").first
    before = first.get_attribute("data-id")
    height = first.bounding_box()["height"]
    person.menu("Sort by")
    person.press("[role=menuitemradio]:has-text('Date, oldest')")
    expect(first).not_to_have_attribute("data-id", before)
    person.menu("Sort by")
    expect(page.locator("[role=menuitemradio][aria-checked=true]")).to_have_text("Date, oldest first")
    person.press("[role=menuitemradio] >> nth=0")
    expect(first).to_have_attribute("data-id", before)
    page.keyboard.press("+")
    page.wait_for_function("h => document.querySelector('.tile').getBoundingClientRect().height > h * 1.2", arg=height)
    page.keyboard.press("-")
    page.keyboard.press("-")
    page.wait_for_function("h => document.querySelector('.tile').getBoundingClientRect().height < h * 0.9", arg=height)
    person.menu("Larger pictures")
    page.wait_for_function("h => Math.abs(document.querySelector('.tile').getBoundingClientRect().height / h - 1) < 0.3",
                           arg=height)


@test(mock=True)
def months_have_heads(person):
    page = person.page
    person.enter("many")
    person.place(3)
    page.wait_for_selector(".day")
    expect(page.locator(".month").first).to_have_text("November 2025")
    person.keep("months")


@test(mock=True)
def cards_of_albums_use_the_width_of_any_screen(person):
    page = person.page
    person.enter()
    for width, height, columns, least in ((3840, 2160, 8, 380), (1280, 800, 4, 220), (320, 640, 2, 130)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("getComputedStyle(document.querySelector('.cards')).gridTemplateColumns.split(' ').length") == columns
        assert page.locator(".card").first.bounding_box()["width"] >= least, width
        person.keep(f"cards-{width}")


@test(mock=True)
def a_year_that_begins_has_a_head(person):
    page = person.page
    for space in ("many", "sparse"):
        person.enter(space)
        person.place(3)
        page.wait_for_selector(".day")
        expect(page.locator(".year-head")).to_have_count(0)
        page.wait_for_function("""() => {
            if (document.querySelector(".year-head")) return true;
            scrollBy({ top: 700, behavior: "instant" });
        }""")
        head = page.locator(".year-head").first
        expect(head).to_have_text("2024")
        # It stands alone above its month, and below the photos of the year before.
        page.wait_for_function("""() => {
            const row = document.querySelector(".row:has(.year-head)");
            const [year, next] = [".year-head", ".month, .day"].map(each => row.querySelector(each).getBoundingClientRect());
            const before = row.previousElementSibling?.querySelector(".tile").getBoundingClientRect();
            return year.bottom <= next.top + 1 && (!before || year.top >= before.bottom);
        }""")
        head.scroll_into_view_if_needed()
        person.keep(f"years-{space}")
        person.press(".lock")
        page.wait_for_selector("input[type=password]")


@test(mock=True)
def a_film_plays_in_its_tile_under_a_mouse_that_rests(person):
    page = person.page
    person.enter()
    person.place(1)
    tile = page.locator(".tile.video").first
    tile.hover()
    page.wait_for_function("() => document.querySelector('.tile-film.ready')?.currentTime > 0")
    assert page.evaluate("document.querySelector('.tile-film').muted")
    person.keep("film-in-tile")
    page.locator("h1").hover()
    expect(page.locator(".tile-film")).to_have_count(0)


@test(mock=True)
def files_are_sent_in_the_order_of_their_names_and_the_panel_folds_when_all_are_saved(person):
    page = person.page
    person.enter()
    person.new_album()
    names = ("IMG_10.png", "b.png", "IMG_2.png", "A.png")
    person.choose([{**picture, "name": name} for picture, name in zip(pictures(4), names)])
    expect(page.locator(".upload-name")).to_have_text(["A.png", "b.png", "IMG_2.png", "IMG_10.png"])
    person.press(".upload-buttons .main")
    expect(page.locator(".upload-panel.folded.over")).to_have_count(1)
    expect(page.locator(".upload-panel .virtual-list")).to_be_hidden()
    expect(page.locator(".upload-panel h2")).to_be_visible()
    person.keep("uploads-folded")
    person.press(".upload-panel > header button")
    expect(page.locator(".upload-panel .virtual-list")).to_be_visible()
    person.press(".upload-buttons .main")
    expect(page.locator(".upload-panel")).to_be_hidden()
    person.delete_album()


@test(mock=True)
def days_with_few_pictures_share_the_rows_of_a_month(person):
    page = person.page
    person.enter("sparse")
    person.place(3)
    expect(page.locator(".day h2").first).to_have_text("November 2025")
    expect(page.locator(".month")).to_have_count(0)
    person.keep("months-of-few")
    person.press(".day-tick >> nth=1")
    expect(page.locator(".selection-bar strong")).to_have_text(re.compile(r"^1[01] selected$"))


@test(mock=True)
def axe_finds_nothing_anywhere(person):
    page = person.page
    source = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()

    def examine(place):
        page.evaluate(source)
        found = page.evaluate("async () => (await axe.run(document, {resultTypes: ['violations']})).violations")
        told = [(each["id"], each["help"], [node["html"][:150] for node in each["nodes"][:3]]) for each in found]
        assert not told, (place, told)
    page.goto(person.url)
    page.wait_for_selector(".login")
    examine("login")
    person.enter()
    page.wait_for_selector(".cover-image img")
    examine("albums")
    person.open_album("Birds")
    page.wait_for_selector(".tile img")
    examine("album")
    page.locator(".tile").first.click(modifiers=["Control"])
    examine("selection")
    person.press(".selection-bar [title=Copy]")
    page.wait_for_selector(".option-cover img")
    examine("picker")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    person.press(".top-bar [aria-haspopup=menu]")
    examine("menu")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    examine("keys")
    page.keyboard.press("Escape")
    person.press(".tile.photo")
    page.wait_for_selector(".slide:not([aria-hidden]) .preview")
    page.keyboard.press("i")
    page.wait_for_selector(".viewer-info dl")
    examine("viewer")
    page.keyboard.press("Escape")
    person.place(3)
    page.wait_for_selector(".day")
    examine("by date")
    person.place(5)
    page.keyboard.type("oslo")
    page.wait_for_selector(".tile img")
    examine("search")


@test(mock=True)
def a_slideshow_goes_on_by_itself_and_any_key_ends_it(person):
    page = person.page
    person.enter()
    person.open_album("Birds")
    person.press(".tile.photo")
    page.wait_for_selector(".slide:not([aria-hidden]) .preview")
    caption = page.locator(".viewer-caption")
    # A screen reader says this when the photo changes, and says nothing else by itself.
    expect(caption).to_have_text(re.compile(r"^IMG_\d+\.JPG, .* · 1 of \d+$"))
    expect(page.locator(".viewer [aria-live]")).to_have_count(1)
    person.press(".viewer-actions [title=More]")
    person.keep("viewer-menu")
    person.press("[role=menuitem]:has-text('Slideshow')")
    page.wait_for_selector(".viewer.bare")
    expect(caption).to_contain_text(re.compile(r"2 of \d+"))
    page.keyboard.press("Escape")
    page.wait_for_selector(".viewer:not(.bare)")
    page.keyboard.press("Escape")
    page.wait_for_selector(".viewer", state="detached")


@test(mock=True)
def the_photos_of_a_selection_are_rotated_and_keys_are_listed(person):
    page = person.page
    person.enter()
    person.open_album("Garden 2")
    tiles = page.locator(".tile.photo")
    ids = [tiles.nth(number).get_attribute("data-id") for number in (0, 1)]
    turned = [page.locator(f".tile[data-id={identifier}]") for identifier in ids]
    before = [tile.bounding_box() for tile in turned]
    for tile in turned:
        tile.click(modifiers=["Control"])
    person.press(".selection-bar [title=Rotate]")
    expect(page.locator(".toast").last).to_contain_text("2 photos rotated")
    shape = ("([id, was]) => { const box = document.querySelector(`.tile[data-id=${id}]`).getBoundingClientRect();"
             " return was > 1 ? box.width / box.height < 1 : box.width / box.height >= 1; }")
    for identifier, box in zip(ids, before):
        page.wait_for_function(shape, arg=[identifier, box["width"] / box["height"]])
    page.keyboard.press("?")
    expect(page.locator("dialog h2")).to_have_text("Keys")
    person.keep("keys")
    page.keyboard.press("Escape")


@test(mock=True)
def albums_are_chosen_by_their_covers(person):
    page = person.page
    person.enter()
    person.open_album("Birds")
    page.locator(".tile").first.click(modifiers=["Control"])
    person.press(".selection-bar [title=Copy]")
    page.wait_for_selector(".option-cover img")
    person.keep("picker")
    page.keyboard.press("Escape")


@test(mock=True)
def a_password_can_be_read_while_it_is_typed(person):
    page = person.page
    page.goto(person.url)
    page.fill("input[type=password]", "some")
    person.press("[title='Show the password']")
    expect(page.locator("input[type=text]")).to_have_value("some")
    person.keep("login")
    page.keyboard.press("Enter")
    page.wait_for_selector("nav [aria-current]")


@test(mock=True)
def menus_and_dialogs_are_used_in_a_low_window(person):
    page = person.page
    person.enter()
    person.open_album("Birds")
    # A window of 1280 pixels at 200 %, and a phone that lies.
    for width, height in ((640, 400), (740, 320)):
        page.set_viewport_size({"width": width, "height": height})
        person.press(".top-bar [aria-haspopup=menu]")
        last = page.locator(".menu button").last
        last.scroll_into_view_if_needed()
        box = last.bounding_box()
        assert 0 <= box["y"] and box["y"] + box["height"] <= height, box
        person.keep(f"menu-{height}")
        page.keyboard.press("Escape")
        person.menu("Rename album")
        button = page.locator("dialog .main")
        button.scroll_into_view_if_needed()
        box = button.bounding_box()
        assert 0 <= box["y"] and box["y"] + box["height"] <= height, box
        page.keyboard.press("Escape")


@test({**DESKTOP, "forced_colors": "active"}, mock=True)
def forced_colours_show_what_is_selected(person):
    page = person.page
    person.enter()
    person.open_album("Birds")
    page.locator(".tile").nth(1).click(modifiers=["Control"])
    frames = page.locator(".tile").evaluate_all("tiles => tiles.slice(0, 3).map(t => getComputedStyle(t).outlineStyle)")
    assert frames == ["none", "solid", "none"], frames
    person.keep("forced")


@test(mock=True)
def what_another_program_adds_shows_by_itself(person):
    page = person.page
    person.enter()
    person.open_album("Birds")
    page.wait_for_selector(".tile")
    before = page.locator(".subtitle").inner_text()
    person.mock(touch="Birds")
    page.wait_for_function("text => document.querySelector('.subtitle').textContent !== text", arg=before)


@test(mock=True)
def names_are_never_markup(person):
    person.enter()
    person.open_album("Family")
    person.page.wait_for_selector(".tile img")
    person.page.wait_for_timeout(500)
    assert person.page.locator("img[onerror]").count() == 0
    expect(person.page.locator(".tile[aria-label*='onerror']")).to_have_count(1)


@test(mock=True)
def a_space_that_is_read_only_offers_no_changes(person):
    page = person.page
    person.enter("fixed")
    person.open_album("Family")
    assert page.locator(".upload-button").count() == 0
    person.press(".tile >> nth=0")
    page.wait_for_selector(".viewer")
    assert page.locator(".viewer-actions button[title=Delete]").count() == 0


@test(mock=True)
def a_day_is_selected_whole_by_keyboard(person):
    page = person.page
    person.enter()
    person.place(3)
    page.wait_for_selector(".tile")
    page.locator(".tile").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    day = page.evaluate("""() => {
        const rows = [...document.querySelectorAll(".row")];
        const at = rows.indexOf(document.activeElement.closest(".row"));
        return rows.slice(0, at + 1).reverse().find(row => row.querySelector(".day")).querySelector("h2").textContent;
    }""")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.title") == f"Select all of {day}"
    page.keyboard.press("Enter")
    expect(page.locator(".selection-bar strong")).not_to_have_text("Select photos")
    expect(page.locator(".selection-bar strong")).to_contain_text("selected")
    # From one photo Tab goes on behind the grid: the other days are not stops.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.classList.contains('tile')")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.grid')") is None


@test(mock=True)
def a_phone_that_is_turned_to_and_fro_shows_the_same_photos(person):
    page = person.page
    person.enter("many")
    person.place(1)
    page.wait_for_selector(".tile img")
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_timeout(200)
    for top in range(3000, 8000, 700):
        page.evaluate("top => scrollTo(0, top)", top)
        for width, height in ((740, 360), (360, 740)) * 2:
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(150)
        after = page.evaluate("scrollY")
        assert abs(after - top) < 2, (top, after)


@test(mock=True)
def a_screen_reader_hears_the_date_and_the_name_that_a_photo_has_now(person):
    page = person.page
    person.enter()
    person.new_album()
    person.upload(pictures(2))
    person.tiles(2)
    page.wait_for_function("() => [...document.querySelectorAll('.tile')].every(tile => tile.querySelector('img'))")
    person.mock(taken={"Test 1.png": 1_000_000_000})
    expect(page.locator(".tile").first).to_have_attribute("aria-label", "Test 1.png, 9 September 2001")
    person.delete_album()


@test(mock=True)
def a_photo_shows_when_the_server_is_back(person):
    page = person.page
    person.enter()
    person.open_album("Garden 2")
    person.press(".tile.photo")
    page.wait_for_selector(".slide:not([aria-hidden]) .preview")
    person.context.set_offline(True)
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".slide:not([aria-hidden]) .slide-message")).to_have_text("The server cannot be reached.")
    person.context.set_offline(False)
    page.wait_for_selector(".slide:not([aria-hidden]) .preview")
    expect(page.locator(".slide:not([aria-hidden]) .slide-message")).to_have_count(0)
    page.keyboard.press("Escape")


@test(LARGE, mock=True)
def a_large_screen_shows_the_original_where_previews_are_too_small_for_it(person):
    page = person.page
    person.enter()
    person.open_album("Garden 2")
    person.press(".tile.photo")
    # The mock server's previews have at most 1200 pixels.
    page.wait_for_selector(".slide:not([aria-hidden]) .original")
    assert not page.locator(".zoomed").count()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".slide:not([aria-hidden]) .preview")
    page.wait_for_timeout(600)
    expect(page.locator(".slide:not([aria-hidden]) .original")).to_have_count(0)
    page.keyboard.press("Escape")


@test(mock=True)
def a_double_tap_lets_a_panorama_fill_the_height(person):
    page = person.page
    person.enter()
    person.new_album()
    person.upload(pictures(1, size=(2400, 300)))
    person.press(".tile")
    page.wait_for_selector(".slide:not([aria-hidden]) .preview")
    page.mouse.dblclick(640, 400)
    page.wait_for_function("() => document.querySelector('.picture').getBoundingClientRect().height > innerHeight - 2")
    page.mouse.dblclick(640, 400)
    page.wait_for_selector(".zoomed", state="detached")
    page.keyboard.press("Escape")
    person.delete_album()


@test(mock=True)
def days_are_selected_whole_and_the_strip_of_years_goes_to_a_date(person):
    page = person.page
    person.enter("many")
    person.place(3)
    page.wait_for_selector(".day-tick")
    person.press(".day-tick >> nth=0")
    expect(page.locator(".selection-bar strong")).not_to_have_text("Select photos")
    page.keyboard.press("Escape")
    strip = page.locator(".scrubber")
    box = strip.bounding_box()
    page.mouse.click(box["x"] + 30, box["y"] + box["height"] * 0.7)
    page.wait_for_function("() => scrollY > 5000")
    text = strip.get_attribute("aria-valuetext")
    strip.focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("text => document.querySelector('.scrubber').getAttribute('aria-valuetext') !== text",
                           arg=text)


@test(mock=True)
def photos_are_found_while_a_person_types(person):
    page = person.page
    person.enter()
    page.keyboard.press("/")
    field = page.locator(".search input")
    expect(field).to_be_focused()
    expect(page.locator(".empty h2")).to_have_text("Type what you remember")
    page.keyboard.type("oslo")
    expect(page.locator(".card-name")).to_have_text("Oslo")
    page.wait_for_selector(".tile")
    person.keep("search")
    name = page.locator(".tile").nth(2).get_attribute("aria-label").split(".")[0]
    page.keyboard.type(f" {name}".lower())
    expect(page.locator(".card")).to_have_count(0)
    person.tiles(1)
    expect(page.locator(".tile")).to_have_attribute("aria-label", re.compile(name))
    # The viewer goes through what was found, and the way back leads to it.
    person.press(".tile")
    page.wait_for_selector(".viewer")
    page.keyboard.press("Escape")
    expect(field).to_have_value(f"oslo {name}".lower())
    person.place(0)
    page.go_back()
    expect(field).to_have_value(f"oslo {name}".lower())
    person.tiles(1)
    field.fill("nothingofthekind")
    expect(page.locator(".empty h2")).to_have_text("Nothing found")
    field.fill("")
    person.press(".chip:text-is('Videos')")
    page.wait_for_selector(".tile.video")
    expect(page.locator(".tile.photo")).to_have_count(0)
    assert page.evaluate("() => location.href") == person.url, "the browser keeps no words"


@test(mock=True)
def a_star_marks_favourites_on_tiles_in_the_viewer_and_for_a_selection(person):
    page = person.page
    person.enter()
    person.open_album("Birds")
    first = page.locator(".tile").first
    first.hover()
    first.locator(".tile-star").click()
    expect(page.locator(".tile.favourite")).to_have_count(1)
    expect(first).to_have_attribute("aria-label", re.compile(r", Favourite$"))
    person.press(".tile >> nth=1")
    star = page.locator(".viewer-actions [title=Favourite]")
    expect(star).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("f")
    expect(star).to_have_attribute("aria-pressed", "true")
    person.keep("star")
    page.keyboard.press("Escape")
    expect(page.locator(".tile.favourite")).to_have_count(2)
    for number in (1, 2, 3):
        page.locator(".tile").nth(number).click(modifiers=["Control"])
    person.press(".selection-bar [title=Favourite]")
    expect(page.locator(".tile.favourite")).to_have_count(4)
    page.keyboard.press("Escape")
    person.place(4)
    expect(page.locator("h1 .crumb-here")).to_have_text("Favourites")
    person.tiles(4)
    person.keep("favourites")
    page.keyboard.press("Control+a")
    page.keyboard.press("f")
    expect(page.locator(".empty p")).to_have_text("Photos with a star appear here.")


@test(mock=True)
def caption_tags_stars_and_date_are_changed_beside_a_photo(person):
    page = person.page
    person.enter()
    person.open_album("Garden 10")
    person.press(".tile.photo")
    page.keyboard.press("i")
    info = page.locator(".viewer-info")
    info.locator("textarea").fill("The pond in May")
    info.locator("[placeholder^=Tags]").fill("pond, frogs, pond")
    info.locator("[title='4 stars']").click()
    expect(info.locator(".stars .lit")).to_have_count(4)
    info.locator("[title='Correct the date']").click()
    info.locator("[type=datetime-local]").fill("2019-06-05T12:33")
    person.keep("notes")
    info.locator("text=Save").click()
    expect(info).to_contain_text("5 June 2019 at 12:33")
    # It is on the server, and found by it.
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(info.locator("textarea")).to_have_value("The pond in May")
    expect(info.locator("[placeholder^=Tags]")).to_have_value("pond, frogs")
    expect(info.locator(".stars .lit")).to_have_count(4)
    # Keys that a person types into a field belong to it.
    info.locator("textarea").click()
    page.keyboard.type("f i")
    expect(info.locator("textarea")).to_have_value(re.compile("f i"))
    expect(page.locator(".viewer-actions [title=Favourite]")).to_have_attribute("aria-pressed", "false")
    info.locator("[title='4 stars']").click()
    expect(info.locator(".stars .lit")).to_have_count(0)
    info.locator("[title='Correct the date']").click()
    info.locator("text=Original date").click()
    expect(info).not_to_contain_text("5 June 2019")
    page.keyboard.press("Escape")
    person.press("nav button >> nth=5")
    page.keyboard.type("pond may")
    person.tiles(1)


@test(PHONE, mock=True)
def a_phone_finds_photos_in_german(person):
    page = person.page
    person.enter()
    person.press("nav button:visible >> nth=4")
    expect(page.locator("h1 .crumb-here")).to_have_text("Suche")
    person.press(".chip:text-is('Videos')")
    page.wait_for_selector(".tile.video")
    person.keep("search-phone")
    person.press(".tile")
    page.wait_for_selector(".viewer")
    person.press(".viewer-actions [title=Favorit]")
    person.press(".viewer-actions [title=Informationen]")
    page.wait_for_selector(".viewer-info dl")
    person.keep("info-phone")


# What the page asks for until a whole row of pictures shows, and how many bytes of listings that takes.
FIRST_ROW = """() => {
    window.asked = [];
    window.atFirstRow = null;
    const send = window.fetch;
    window.fetch = (path, options) => {
        asked.push(path);
        return send(path, options);
    };
    const look = () => {
        const tiles = [...document.querySelectorAll(".row:first-child .tile")];
        if (tiles.length > 0 && tiles.every(tile => tile.querySelector("img"))) atFirstRow ??= [...asked];
    };
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
}"""

# Jumps through all photos. Counts elements, and in the first drawing after each jump the rows that nobody sees and the
# marks that do not show.
JUMPS = """async () => {
    const most = { elements: 0, unseen: 0, marks: 0, jumps: 0 };
    const isOutside = ({ top, bottom }) => bottom < 0 || top > innerHeight;
    let draw = null;
    const observer = new MutationObserver(() => {
        most.elements = Math.max(most.elements, document.querySelectorAll("*").length);
        if (draw === null) return;
        const rows = [...document.querySelectorAll(".row")].map(row => row.lastElementChild.getBoundingClientRect());
        most.unseen = Math.max(most.unseen, rows.filter(isOutside).length);
        most.marks = Math.max(most.marks, [...document.querySelectorAll(".tile:not(:hover) :is(.tick, .tile-star)")]
            .filter(mark => mark.getClientRects().length > 0).length);
        most.jumps += 1;
        draw();
    });
    observer.observe(document.querySelector(".grid"), { childList: true });
    const end = document.documentElement.scrollHeight;
    for (let step = 1; step <= 60; step += 1) {
        const drawn = new Promise(resolve => draw = resolve);
        scrollTo(0, end * step / 61);
        await drawn;
        draw = null;
    }
    observer.disconnect();
    return most;
}"""


@test(mock=True)
def a_hundred_thousand_photos_cost_what_is_seen_of_them(person):
    page = person.page
    asked = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(person.url[:-1])))
    person.enter("many")
    page.wait_for_selector(".card img")
    # Nothing is asked for between the login and the albums.
    assert asked[asked.index("/api/login") + 1] == "/api/albums", asked
    page.evaluate(FIRST_ROW)
    person.place(1)
    page.wait_for_function("() => atFirstRow !== null")
    asked = page.evaluate("atFirstRow")
    listings = [path for path in asked if path.startswith("/api/photos?")]
    assert len(listings) == 1 and len(asked) <= 4, asked
    first = person.context.request.get(person.url + listings[0][1:], headers={"X-Albumfs": "1"})
    assert len(first.body()) < 400_000, len(first.body())
    # The page draws more than a screen above and below where a person rests.
    page.wait_for_function("() => document.querySelector('.row:last-child').getBoundingClientRect().top > innerHeight * 1.3")
    page.wait_for_function("() => document.querySelector('.grid').clientHeight > 1000000")
    page.wait_for_function("""() => {
        const loaded = asked.findLast(path => path.startsWith("/api/photos?"));
        return Number(new URLSearchParams(loaded.split("?")[1]).get("from")) > 95000;
    }""")
    most = page.evaluate(JUMPS)
    # Drawn beside what is in the window: the rows at its edges, and the one that Tab reaches.
    assert most["jumps"] == 60 and most["elements"] < 1000 and most["unseen"] <= 3 and most["marks"] == 0, most
    page.wait_for_selector(".tile img")
    session = person.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    usage = session.send("Runtime.getHeapUsage")
    kept = (usage["usedSize"] + usage.get("backingStorageSize", 0)) / 1e6
    print(f"    at most {most['elements']} elements; {kept:.0f} MB are kept")
    assert kept < 40, kept


@test(view=PHONE, mock=True)
def what_is_done_with_a_selection_has_its_whole_name_on_a_narrow_phone_in_german(person):
    page = person.page
    page.set_viewport_size({"width": 320, "height": 640})
    person.enter()
    person.place(1)
    page.wait_for_selector(".tile img")
    page.keyboard.press("Control+a")
    page.wait_for_selector(".selection-bar:not([hidden])")
    person.keep("selection-320")
    boxes = page.evaluate("""() => [".selection-bar .labelled span", ".selection-bar > .plain, .selection-title strong"]
        .map(selector => [...document.querySelectorAll(selector)].map(each => each.getBoundingClientRect())
            .map(({ left, right }) => [left, right]))""")
    for row in boxes:
        edges = [edge for box in sorted(row) for edge in box]
        assert edges == sorted(edges) and edges[0] >= 0 and edges[-1] <= 320, row
    page.keyboard.press("Escape")
    person.place(3)
    page.wait_for_selector(".day")
    cut = "labels => labels.filter(each => each.scrollWidth > each.clientWidth).map(each => each.textContent)"
    assert page.locator("nav button:not(.wide-only) span").evaluate_all(cut) == []


@test(view=PHONE)
def a_phone_swipes_through_photos_and_drags_down_to_close(person):
    page = person.page
    person.enter()
    person.new_album()
    person.upload(pictures(3))
    person.tiles(3)
    person.press(".tile >> nth=0")
    person.viewing("Test 1.png")
    fingers = page.context.new_cdp_session(page)

    def swipe(x0, y0, x1, y1):
        fingers.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x0, "y": y0}]})
        for step in range(1, 9):
            fingers.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [
                {"x": x0 + (x1 - x0) * step / 8, "y": y0 + (y1 - y0) * step / 8}]})
        fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    swipe(320, 400, 60, 400)
    person.viewing("Test 2.png")
    swipe(60, 400, 320, 400)
    person.viewing("Test 1.png")
    swipe(180, 300, 180, 600)
    page.wait_for_selector(".viewer", state="detached")
    # Chromium takes a tap right after a swipe for the stop of its motion.
    page.wait_for_timeout(1500)
    person.delete_album()


@test(view=PHONE)
def a_phone_zooms_with_two_fingers_and_a_tap_hides_the_bars(person):
    page = person.page
    person.enter()
    person.new_album()
    person.upload(pictures(1))
    person.press(".tile")
    page.wait_for_selector(".slide .preview")
    page.touchscreen.tap(180, 370)
    page.wait_for_selector(".viewer.bare")
    page.touchscreen.tap(180, 370)
    page.wait_for_selector(".viewer:not(.bare)")
    fingers = page.context.new_cdp_session(page)

    def touch(kind, distance):
        points = [] if kind == "touchEnd" else [{"x": 180 - distance, "y": 370, "id": 0},
                                                {"x": 180 + distance, "y": 370, "id": 1}]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 30)
    for distance in range(30, 110, 10):
        touch("touchMove", distance)
    touch("touchEnd", 0)
    page.wait_for_selector(".zoomed")
    person.press(".viewer-bar > button")
    page.wait_for_selector(".viewer", state="detached")
    person.delete_album()


@test(view=PHONE)
def a_phone_selects_by_a_long_press_and_speaks_german(person):
    page = person.page
    person.enter()
    expect(page.locator("h1")).to_have_text("Alben")
    person.new_album()
    person.upload(pictures(3))
    person.tiles(3)
    box = page.locator(".tile").first.bounding_box()
    fingers = page.context.new_cdp_session(page)
    point = {"x": box["x"] + 30, "y": box["y"] + 30}
    fingers.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    expect(page.locator(".selection-bar strong")).to_have_text("1 ausgewählt")
    fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    person.press(".tile >> nth=1")
    expect(page.locator(".selection-bar strong")).to_have_text("2 ausgewählt")
    person.press(".selection-bar > .quiet")
    width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1], f"the page is wider than the phone: {width}"
    person.menu("English")
    expect(page.locator(".lock")).to_have_attribute("title", re.compile("Lock"))
    person.delete_album()


# Which buttons something else lies upon, or which lie outside of the window; and whether a message lies on the panel.
COVERED = """() => {
    const wrong = [];
    for (const button of document.querySelectorAll(".upload-panel button, .toast button")) {
        const box = button.getBoundingClientRect();
        if (box.width === 0 || button.closest(".upload-row")) continue;
        const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        if (!button.contains(top)) wrong.push(`${button.textContent || button.title} is below ${top?.className}`);
    }
    const panel = document.querySelector(".upload-panel").getBoundingClientRect();
    const toasts = document.querySelector(".toasts").getBoundingClientRect();
    if (toasts.left < panel.right && panel.left < toasts.right && toasts.top < panel.bottom
            && panel.top < toasts.bottom)
        wrong.push("a message lies on the panel");
    for (const box of [panel, toasts])
        if (box.left < 0 || box.top < 0 || box.right > innerWidth || box.bottom > innerHeight) wrong.push("it is cut off");
    return wrong;
}"""


@test(view=PHONE, mock=True)
def messages_cover_no_button_of_the_uploads_in_any_window(person):
    page = person.page
    person.enter()
    person.new_album()
    person.choose(pictures(8))
    expect(page.locator(".upload-panel h2")).to_be_visible()
    page.evaluate("""async () => {
        const { Toast } = await import("/toasts.js");
        const texts = ["One photo was moved.", "Three photos are deleted in a moment, with a text of two lines."];
        for (const text of texts) {
            const toast = new Toast(text);
            toast.offer([{ label: "Undo", run: () => {} }]);
            toast.keep();
        }
    }""")
    for width, height in ((360, 740), (360, 560), (740, 360), (650, 360), (800, 600), (1000, 700), (1280, 800), (3000, 1600)):
        page.set_viewport_size({"width": width, "height": height})
        # The panel and the messages rise when they appear, and follow one another in the next frames.
        page.wait_for_timeout(400)
        wrong = page.evaluate(COVERED)
        person.keep(f"messages-{width}")
        assert wrong == [], (width, height, wrong)
    page.set_viewport_size({"width": 360, "height": 740})
    person.press(".upload-buttons .main")
    page.wait_for_function("() => document.querySelector('.upload-panel h2').textContent.match(/gespeichert/)")
    assert page.evaluate(COVERED) == []
    person.press(".upload-buttons .main")
    expect(page.locator(".upload-panel")).to_be_hidden()
    # Without the panel the messages are where they were.
    gap = page.evaluate("innerHeight - document.querySelector('.toasts').getBoundingClientRect().bottom")
    assert gap < 100, gap
    person.press(".toast >> nth=1 >> .toast-close")
    person.press(".toast-close")
    person.delete_album()


def run(arguments):
    url, password, server = arguments.url, arguments.password, None
    if not url:
        server = mock_server.serve(photos=arguments.photos)
        # A machine that does much else may take long to press Undo.
        mock_server.failures["undoTime"] = 40
        url, password = f"http://localhost:{server.server_port}/", "some"
    failed = []
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for action, view, needs_mock in tests:
            name = action.__name__
            if not re.search(arguments.only, name) or (needs_mock and server is None):
                continue
            person = Person(browser, view, url, password)
            person.pictures = arguments.pictures
            try:
                action(person)
                assert not person.errors, person.errors
                print(f"ok    {name}", flush=True)
            except Exception:  # every test is tried, whatever becomes of one
                failed.append(name)
                print(f"FAIL  {name}\n{traceback.format_exc()}\n{person.errors}", flush=True)
            if arguments.pictures:
                person.picture(Path(arguments.pictures) / f"{name}.png")
            person.context.close()
        browser.close()
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="of a gallery that runs, with a slash at its end")
    parser.add_argument("--password")
    parser.add_argument("--only", default="", help="a regular expression for names of tests")
    parser.add_argument("--photos", type=int, default=100_000, help="in the mock server's large space")
    parser.add_argument("--pictures", help="folder for screenshots")
    wrong = run(parser.parse_args())
    if wrong:
        sys.exit("failed: " + ", ".join(wrong))

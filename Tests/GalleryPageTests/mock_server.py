#!/usr/bin/env python3
"""Serves the gallery's page with an interface as in Interface.md, over generated pictures in memory.

It is for work on the page and for its tests: plain HTTP on localhost, the standard library only.
The password chooses the space: `some` (a few hundred photos), `many` (--photos of them), `empty`,
`sparse` (few photos a day), `fixed` (read-only), `groups` (what belongs together), `twice` and `twice-fixed` (duplicates). `POST /mock` with JSON sets failures while it runs:
  dropUploads   part of the slices whose connection is cut in the middle, 0 to 1
  missingThumbs part of the thumbnails that are not there
  slow          milliseconds before each answer of /api/
  full          true: the disk is full
  failJobs      part of the photos on which a job fails
  reception     closed or guessed: how a reception has ended
  loopback      true: only this machine reaches the gallery
  undoTime      seconds in which a deletion can be undone
  expire        true: forgets all sessions
  overwrite     a photo's name: the photo has an earlier version
  touch         an album's name: adds a photo to it, as another program would
  redraw        an album's name: its photos have new thumbnails, as when their details become known
  unmade        an album's name: its photos have no thumbnails yet
"""

import argparse
import base64
import calendar
import hashlib
import json
import math
import os
import random
import re
import secrets
import socket
import struct
import threading
import time
import urllib.parse
import zlib
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

HERE = Path(__file__).resolve().parent
PAGES = HERE.parent.parent / "Sources" / "Gallery" / "Pages"
SHAPES = [(6000, 4000), (4000, 6000), (4032, 3024), (3024, 4032), (4000, 2250), (3000, 3000), (9000, 3000)]
SLICE = 1 << 20
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src blob: data:; media-src 'self' blob:; "
          "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'")
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}

failures = {"dropUploads": 0, "missingThumbs": 0, "slow": 0, "full": False, "failJobs": 0, "undoTime": 10,
            "slowLoad": 0.05, "reception": None, "loopback": False}


# Pictures

def png(width, height, rows):
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    raw = b"".join(b"\0" + row for row in rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(raw, 1)) + chunk(b"IEND", b""))


def colour(hue, saturation, value):
    sector, rest = divmod(hue * 6, 1)
    low, falling, rising = (value * (1 - saturation), value * (1 - saturation * rest),
                            value * (1 - saturation * (1 - rest)))
    triple = [(value, rising, low), (falling, value, low), (low, value, rising), (low, falling, value),
              (rising, low, value), (value, low, falling)][int(sector) % 6]
    return bytes(max(0, min(255, int(part * 255))) for part in triple)


@lru_cache(maxsize=2000)
def landscape(seed, width, height):
    """Draws hills below a sky with a sun, from runs of one colour, which is fast without a library."""
    rng = random.Random(seed)
    hue = rng.random()
    layers = [(rng.uniform(0.45, 0.85), rng.uniform(0.04, 0.16), rng.uniform(1, 3), rng.uniform(0, 6.3))
              for _ in range(3)]
    layers.sort()
    sun = (rng.uniform(0.2, 0.8), rng.uniform(0.15, 0.4), rng.uniform(0.05, 0.12))
    steps = min(width, max(60, width // 6))
    tops = [[(base + amplitude * math.sin(waves * 6.28 * x / steps + phase)) for x in range(steps)]
            for base, amplitude, waves, phase in layers]
    rows = []
    for y in range(height):
        at = y / height
        sky = colour((hue + 0.08 * at) % 1, 0.45 - 0.3 * at, 0.75 + 0.2 * at)
        grounds = [colour((hue + 0.35 + 0.06 * layer) % 1, 0.35, 0.62 - 0.16 * layer) for layer in range(3)]
        row = bytearray()
        distance = sun[2] ** 2 - ((at - sun[1]) * height / width) ** 2
        span = math.sqrt(distance) if distance > 0 else 0
        for x in range(steps):
            left, right = x * width // steps, (x + 1) * width // steps
            tint = sky
            if abs(x / steps - sun[0]) < span:
                tint = colour(hue, 0.1, 1)
            for layer in range(3):
                if at > tops[layer][x]:
                    tint = grounds[layer]
            row += tint * (right - left)
        rows.append(bytes(row))
    return png(width, height, rows)


# Spaces

class Photo:
    def __init__(self, number, album, name, kind, size, taken, modified):
        self.id = "p%x" % number
        self.number, self.album, self.name, self.kind = number, album, name, kind
        self.width, self.height = size
        self.taken, self.modified = taken, modified
        self.bytes = 3_000_000 + number * 7919 % 4_000_000
        self.rotation, self.thumb, self.hidden = 0, -1 if kind == "other" else 1, False
        self.content = None
        self.duration = 75 if kind == "video" else 0
        self.favourite, self.caption, self.tags, self.rating, self.original = False, None, [], None, taken
        # What the tile says of the files that belong to it, and these.
        self.group, self.others = 0, []

    def is_found(self, space, words):
        """A search as the server's, of words alone."""
        text = f"{self.name} {space.albums[self.album].name} {self.caption or ''} {' '.join(self.tags)}".lower()
        parts = re.split(r"\W+", text) + ["type:" + self.kind] + ["type:favourite"] * self.favourite
        return bool(words) and all(any(part.startswith(word) for part in parts) for word in words)

    @property
    def upright(self):
        return (self.height, self.width) if self.rotation % 180 else (self.width, self.height)

    def picture(self, edge):
        width, height = self.upright
        if width == 0:
            width, height = 300, 200
        scale = min(1, edge / max(width, height))
        return landscape(self.number % 24 + 100 * (self.rotation // 90), max(1, int(width * scale)),
                         max(1, int(height * scale)))

    def deleted(self, space):
        album = space.albums.get(self.album)
        return {"id": self.id, "ids": [photo.id for photo in [self, *self.others]], "path": [album.name if album else "gone", "Photo", self.name], "size": self.bytes,
                "deleted": time.time(), "secondsLeft": 30 * 86400 - 10,
                "cause": "overwritten" if any(self in versions for versions in space.earlier.values()) else "removed"}

    def describe(self, space):
        width, height = self.upright
        path, album = [], space.albums[self.album]
        while album:
            path.insert(0, album.name)
            album = space.albums.get(album.parent)
        return {"id": self.id, "name": self.name, "album": self.album, "kind": self.kind, "size": self.bytes,
                "modified": self.modified, "taken": self.taken, "width": width, "height": height,
                "camera": "Fujifilm X-T5" if self.number % 3 else None,
                "lens": "XF 16-80mm f/4" if self.number % 3 else None, "exposure": 0.008, "aperture": 5.6, "iso": 200,
                "focalLength": 23.3, "focalLength35": 35, "rotation": self.rotation, "path": path,
                "favourite": self.favourite, "caption": self.caption, "tags": self.tags, "people": [],
                "rating": self.rating, "latitude": None, "longitude": None, "duration": self.duration or None,
                "thumb": self.thumb, "live": bool(self.group & 2),
                "files": [{"id": file.id, "name": file.name, "kind": file.kind, "size": file.bytes, "part": file.part}
                          for file in [self, *self.others]]}

    @property
    def part(self):
        ending = self.name.rsplit(".", 1)[-1].lower()
        return {"dng": "raw", "mov": "film", "xmp": "sidecar"}.get(
            ending, "edited" if "-edited" in self.name else self.kind)


class Album:
    def __init__(self, number, parent, name):
        self.id, self.parent, self.name = "a%x" % number, parent, name
        self.photos, self.cover, self.modified, self.hidden = [], None, 1_700_000_000, False

    def describe(self):
        shown = [photo for photo in self.photos if not photo.hidden]
        pictures = [photo for photo in shown if photo.kind != "other"]
        cover = next((photo for photo in pictures if photo.id == self.cover), pictures[0] if pictures else None)
        return {"id": self.id, "parent": self.parent, "name": self.name, "cover": cover.id if cover else None,
                "coverThumb": cover.thumb if cover else 0, "photos": len(pictures),
                "videos": sum(photo.kind == "video" for photo in pictures),
                "others": len(shown) - len(pictures), "modified": self.modified}


def natural(name):
    return [int(part) if part.isdigit() else part.lower() for part in re.split(r"(\d+)", name)]


class Space:
    def __init__(self, read_only=False):
        self.albums, self.photos, self.listings = {}, {}, {}
        self.uploads, self.hidden, self.jobs, self.downloads = {}, {}, {}, {}
        self.number, self.revision, self.read_only = 0, 1, read_only
        self.log, self.mark = [], secrets.token_hex(16)
        # Photos that were deleted, the newest first, and earlier versions of photos by their ids.
        self.deleted, self.earlier = [], {}
        # Photos that are there more than once, those to keep first.
        self.copies = []
        self.changed = threading.Condition(threading.RLock())

    def add_album(self, parent, name):
        self.number += 1
        album = Album(self.number, parent, name)
        self.albums[album.id] = album
        return album

    def add_photo(self, album, name, kind="photo", size=None, taken=None, modified=None):
        self.number += 1
        rng = random.Random(self.number)
        size = size or rng.choice(SHAPES[:6] * 3 + SHAPES)
        photo = Photo(self.number, album.id, name, kind, size, taken, modified or time.time())
        album.photos.append(photo)
        self.photos[photo.id] = photo
        return photo

    def touch(self, albums=(), list_too=True):
        with self.changed:
            self.revision += 1
            self.log.append((self.revision, list_too, set(albums)))
            self.listings.clear()
            self.changed.notify_all()

    def listing(self, key):
        with self.changed:
            if key in self.listings:
                return self.listings[key]
            if key[0] == "album":
                photos = sorted((p for p in self.albums[key[1]].photos if not p.hidden), key=lambda p: natural(p.name))
                date = lambda p: p.modified if key[2] == "added" or p.taken is None else p.taken
                if key[2] != "name":
                    photos.sort(key=date, reverse=key[2] != "oldest")
            else:
                photos = [p for album in self.albums.values() if not album.hidden for p in album.photos if not p.hidden]
                if key[0] == "place":
                    photos = [p for p in photos if p.number % 4 == 0 and p.number % 8 // 4 + 1 == int(key[1])]
                if key[0] == "search":
                    photos = [p for p in photos if p.is_found(self, key[1].lower().split())]
                if key[1] == "recent":
                    photos.sort(key=lambda p: -p.modified)
                if key[1] == "date" or key[0] in ("search", "place"):
                    photos.sort(key=lambda p: -(p.taken if p.taken is not None else p.modified))
            self.listings[key] = photos
            return photos


PLACES = ["Lisbon", "Oslo", "Kyoto", "Amsterdam", "Granada", "Sarajevo"]


def some(count=400, read_only=False):
    space = Space(read_only)
    albums = []
    for name in ["Travels", "Family", "Garden 2", "Garden 10", "Birds", "Sketches and paintings of a long winter"]:
        albums.append(space.add_album(None, name))
    for place in PLACES:
        albums.append(space.add_album(albums[0].id, place))
    albums.append(space.add_album(albums[6].id, "Alfama"))
    space.add_album(None, "Empty one")
    fill(space, albums, count)
    return space


def twice(read_only=False):
    """A photo with an equal and a smaller copy, and one with an equal copy."""
    space = Space(read_only)
    albums = [space.add_album(None, name) for name in ("Travels", "2024-05-01", "Sent")]
    for number, sizes in enumerate([[(6000, 4000), (6000, 4000), (1500, 1000)], [(4000, 6000), (4000, 6000)]]):
        space.copies.append([])
        for album, size in zip(albums, sizes):
            photo = space.add_photo(album, f"COPY_{number + 1}.JPG", "photo", size, 1_600_000_000, 1_600_000_000)
            photo.number = number
            space.copies[-1].append(photo)
    return space


def groups():
    """A Live Photo with its sidecar, a raw picture with its JPEG, an edited photo, and one that is alone."""
    space = Space()
    album = space.add_album(None, "Day")
    for group, names in [(3, ["LIVE.HEIC", "LIVE.MOV", "LIVE.xmp"]), (5, ["RAW.DNG", "RAW.JPG"]),
                         (9, ["WALK.jpg", "WALK-edited.jpg"]), (0, ["PLAIN.jpg"])]:
        files = []
        for name in names:
            kind = {"MOV": "video", "xmp": "other"}.get(name.rsplit(".", 1)[1], "photo")
            files.append(space.add_photo(album, name, kind, (4000, 3000), 1_600_000_000, 1_600_000_000))
        files[0].group, files[0].others = group, files[1:]
        for other in files[1:]:
            album.photos.remove(other)
    return space


def fill(space, albums, count):
    rng = random.Random(7)
    moment = 1_762_000_000
    for number in range(count):
        moment -= rng.expovariate(1 / 40_000) if number % 9 == 0 else rng.randrange(20, 900)
        kind = "video" if number % 23 == 11 else "photo"
        name = f"IMG_{number + 1}.{'MP4' if kind == 'video' else 'JPG'}"
        album = albums[number * len(albums) // count] if number % 7 else rng.choice(albums)
        space.add_photo(album, name, kind, taken=int(moment) if number % 31 else None, modified=int(moment) + 3600)
    if count:
        space.add_photo(albums[1], "notes.txt", "other", (0, 0), None, 1_750_000_000)
        space.add_photo(albums[1], "<img src=x onerror=alert(1)>.jpg", "photo", (0, 0), None, 1_750_000_001)


def many(count):
    space = Space()
    albums = [space.add_album(None, f"Year {year}") for year in range(2010, 2026)]
    fill(space, albums, count)
    return space


def wasted(count=2000):
    """All of an album was deleted."""
    space = some(60)
    album = next(iter(space.albums.values()))
    for number in range(count):
        space.deleted.append(space.add_photo(album, f"GONE_{number:04}.JPG"))
        album.photos.pop()
    return space


def sparse(count=200):
    """One photo every third day."""
    space = Space()
    album = space.add_album(None, "Every third day")
    for number in range(count):
        space.add_photo(album, f"DAY_{number}.JPG", taken=1_762_000_000 - number * 3 * 86_400)
    return space


class Session:
    def __init__(self, space):
        self.space, self.alive = space, time.time()


sessions = {}
spaces = {}


# Jobs

def run_job(space, job, items, action):
    deadline = time.time() + failures["undoTime"]
    while job["kind"] == "delete" and job["state"] == "pending" and time.time() < deadline and not job.get("now"):
        time.sleep(0.05)
    if job["state"] == "cancelled":
        for item in items:
            item.hidden = False
        space.touch([item.album for item in items if isinstance(item, Photo)])
        return
    job["state"] = "running"
    for item in items:
        if job["state"] == "cancelled":
            item.hidden = False
            continue
        time.sleep(min(0.03, 2 / len(items)))
        if random.random() < failures["failJobs"]:
            item.hidden = False
            job["errors"].append({"id": item.id, "name": item.name, "error": "damaged"})
        else:
            action(item)
        job["done"] += 1
    if job["state"] == "running":
        job["state"] = "done"
    space.touch([album.id for album in space.albums.values()])


def start_job(space, kind, items, action):
    job = {"id": "j" + secrets.token_hex(4), "kind": kind, "state": "pending" if kind == "delete" else "running",
           "done": 0, "total": len(items), "errors": []}
    space.jobs[job["id"]] = job
    if kind == "delete":
        for item in items:
            item.hidden = True
    space.touch({item.album for item in items if isinstance(item, Photo)})
    threading.Thread(target=run_job, args=(space, job, items, action), daemon=True).start()
    return job


class Refused(Exception):
    def __init__(self, status, code, **more):
        self.status, self.body = status, {"error": code, **more}


def session_info(space):
    return {"readOnly": space.read_only, "idleSeconds": 600, "thumbnailSize": 256, "maximumUpload": 1 << 40,
            "sliceSize": SLICE, "batch": {"files": 100, "bytes": 2 * SLICE}, "imports": True,
            "space": None if space.read_only else space.mark}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    # Answers

    def send(self, status, body, kind="application/json", headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in [("Content-Type", kind), ("Content-Length", str(len(data))), ("Cache-Control", "no-store"),
                            ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "same-origin"),
                            ("Cross-Origin-Opener-Policy", "same-origin"), ("Content-Security-Policy", POLICY),
                            ("Cross-Origin-Resource-Policy", "same-origin"), *headers]:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def body(self):
        if self.cached is None:
            self.cached = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return self.cached

    def json(self):
        try:
            return json.loads(self.body() or b"{}")
        except ValueError:
            raise Refused(400, "invalid")

    @property
    def space(self):
        match = re.search(r"__Host-albumfs=(\w+)", self.headers.get("Cookie") or "")
        session = sessions.get(match.group(1)) if match else None
        if session is None or time.time() - session.alive > 60:
            raise Refused(401, "session")
        return session.space

    def handle_request(self):
        self.cached = None
        url = urllib.parse.urlsplit(self.path)
        self.query = {key: value[0] for key, value in urllib.parse.parse_qs(url.query, keep_blank_values=True).items()}
        try:
            if not url.path.startswith("/api/"):
                return self.mock() if url.path == "/mock" else self.page(url.path)
            self.check(url.path)
            time.sleep(failures["slow"] / 1000)
            for method, pattern, action in ROUTES:
                match = re.fullmatch(pattern, url.path)
                if match and method == self.command:
                    return action(self, *match.groups())
            raise Refused(404, "unknown")
        except Refused as refused:
            self.body() if self.command != "PUT" else None
            self.send(refused.status, refused.body)
        except (KeyError, TypeError) as error:
            self.send(404, {"error": "unknown", "detail": repr(error)})

    do_GET = do_HEAD = do_POST = do_PUT = handle_request

    def check(self, path):
        origin = self.headers.get("Origin")
        if self.command not in ("GET", "HEAD") and origin != f"http://{self.headers.get('Host')}":
            raise Refused(403, "origin")
        free = self.command == "GET" and path.startswith(("/api/downloads/", "/api/video/", "/api/live/"))
        if not free and self.headers.get("X-Albumfs") != "1":
            raise Refused(403, "origin")

    def page(self, path):
        name = path.strip("/") or "index.html"
        file = PAGES / name
        if "/" in name or not file.is_file():
            return self.send(404, {"error": "unknown"})
        self.send(200, file.read_bytes(), TYPES[file.suffix] + "; charset=utf-8")

    def mock(self):
        for key, value in self.json().items():
            if key == "expire":
                sessions.clear()
            elif key == "touch":
                space = spaces["some"]
                album = next(album for album in space.albums.values() if album.name == value)
                space.add_photo(album, f"NEW_{space.number}.JPG")
                space.touch([album.id])
            elif key == "overwrite":
                space = spaces["some"]
                for photo in [photo for photo in space.photos.values() if photo.name == value]:
                    space.number += 1
                    space.earlier[photo.id] = [Photo(space.number, photo.album, "earlier of " + photo.name, photo.kind,
                                                     (photo.width, photo.height), photo.taken, photo.modified)]
            elif key == "taken":
                space = spaces["some"]
                dated = [photo for photo in space.photos.values() if photo.name in value]
                for photo in dated:
                    photo.taken = value[photo.name]
                space.touch({photo.album for photo in dated}, list_too=False)
            elif key in ("redraw", "unmade"):
                space = spaces["some"]
                albums = [album for album in space.albums.values() if value in ("*", album.name)]
                for photo in (photo for album in albums for photo in album.photos):
                    photo.thumb = photo.thumb + 1 if key == "redraw" else 0
                space.touch([album.id for album in albums])
            else:
                failures[key] = value
        self.send(200, {})

    # Session

    def login(self):
        password = self.json().get("password")
        time.sleep(0.3)
        if password not in spaces:
            raise Refused(403, "refused")
        token = secrets.token_hex(32)
        sessions[token] = Session(spaces[password])
        self.send(200, session_info(spaces[password]), headers=[
            ("Set-Cookie", f"__Host-albumfs={token}; HttpOnly; Secure; SameSite=Strict; Path=/")])

    def session(self):
        self.send(200, session_info(self.space))

    def lock(self):
        match = re.search(r"__Host-albumfs=(\w+)", self.headers.get("Cookie") or "")
        if match:
            sessions.pop(match.group(1), None)
        self.body()
        self.send(200, {})

    def alive(self):
        self.space
        match = re.search(r"__Host-albumfs=(\w+)", self.headers.get("Cookie") or "")
        sessions[match.group(1)].alive = time.time()
        self.body()
        self.send(200, {})

    # Albums

    def list_albums(self):
        space = self.space
        self.send(200, {"revision": str(space.revision),
                        "albums": [album.describe() for album in space.albums.values() if not album.hidden]})

    def write(self):
        space = self.space
        if space.read_only:
            raise Refused(403, "readonly")
        return space

    def check_name(self, space, parent, name, but=None):
        if not name or "/" in name or name in (".", "..") or len(name.encode()) > 255:
            raise Refused(400, "name")
        if any(a.parent == parent and a.name == name and a is not but for a in space.albums.values() if not a.hidden):
            raise Refused(409, "exists")

    def create_album(self):
        space, asked = self.write(), self.json()
        self.check_name(space, asked.get("parent"), asked.get("name"))
        album = space.add_album(asked.get("parent"), asked["name"])
        space.touch()
        self.send(200, {"album": album.describe()})

    def change_album(self, identifier):
        space, asked = self.write(), self.json()
        album = space.albums[identifier]
        self.check_name(space, asked.get("parent", album.parent), asked.get("name", album.name), album)
        album.name, album.parent = asked.get("name", album.name), asked.get("parent", album.parent)
        album.cover = asked.get("cover", album.cover)
        space.touch()
        self.send(200, {"album": album.describe()})

    def delete_album(self, identifier):
        space = self.write()
        self.body()
        doomed = [space.albums[identifier]]
        for album in doomed:
            doomed += [inner for inner in space.albums.values() if inner.parent == album.id]

        def remove(album):
            for photo in album.photos:
                space.photos.pop(photo.id, None)
            space.albums.pop(album.id, None)
        self.send(200, {"job": start_job(space, "delete", doomed, remove)})

    # Photos

    def list_photos(self):
        space = self.space
        key = next((name, self.query[name]) for name in ("album", "search", "place", "view") if name in self.query)
        key += (self.query.get("sort", "name"),)
        if key[0] == "album" and (key[1] not in space.albums or space.albums[key[1]].hidden):
            raise Refused(404, "unknown")
        revision, photos = str(space.revision), space.listing(key)
        start = int(self.query.get("from", 0))
        part = photos[start:start + int(self.query.get("limit", len(photos)))]
        self.send(200, {
            "revision": revision, "count": len(photos), "videos": sum(p.kind == "video" for p in photos),
            "others": sum(p.kind == "other" for p in photos),
            "id": [p.id for p in part], "name": [p.name for p in part], "kind": [p.kind for p in part],
            "width": [p.upright[0] for p in part], "height": [p.upright[1] for p in part],
            "taken": [p.taken for p in part], "modified": [p.modified for p in part],
            "size": [p.bytes for p in part], "album": [p.album for p in part], "duration": [p.duration for p in part],
            "favourite": [int(p.favourite) for p in part], "group": [p.group for p in part],
            "thumb": [p.thumb for p in part]})

    def thumbnail(self, space, identifier):
        photo = space.photos.get(identifier)
        if photo is None or photo.thumb < 1 or photo.number % 100 < failures["missingThumbs"] * 100:
            return b""
        if photo.content is not None:
            return photo.content if len(photo.content) < 300_000 else landscape(photo.number % 24, 150, 100)
        return photo.picture(150)

    def thumbs(self):
        space = self.space
        parts = [self.thumbnail(space, identifier) for identifier in self.query["ids"].split(",")]
        if len(parts) > 200:
            raise Refused(400, "invalid")
        body = b"".join(struct.pack(">I", len(part)) + part for part in parts)
        self.send(200, body, "application/octet-stream")

    def photo(self, identifier):
        space = self.space
        self.send(200, space.photos[identifier].describe(space))

    def places(self):
        """The town of each photo is a part of its number."""
        towns = {}
        for photo in (photo for photo in self.space.photos.values() if not photo.hidden and photo.number % 4 == 0):
            towns.setdefault(photo.number % 8 // 4 + 1, []).append(photo)
        self.send(200, {"places": [
            {"place": number, "name": ["Paris, France", "Oslo, Norway"][number - 1], "photos": len(photos),
             "videos": sum(photo.kind == "video" for photo in photos), "cover": photos[0].id,
             "coverThumb": photos[0].thumb} for number, photos in sorted(towns.items())]})

    # Deleted files

    def deleted(self):
        space = self.space
        self.send(200, {"files": [photo.deleted(space) for photo in space.deleted]})

    def deleted_thumb(self, identifier):
        photo = next((photo for photo in self.space.deleted if photo.id == identifier), None)
        if photo is None or photo.kind == "other":
            raise Refused(404, "unknown")
        self.send(200, photo.picture(256), "image/png")

    def earlier(self, identifier):
        space = self.space
        self.send(200, {"files": [photo.deleted(space) for photo in space.earlier.get(identifier, [])]})

    # Duplicates

    def duplicates(self):
        space, sets = self.space, []
        for copies in space.copies:
            there = [photo for photo in copies if photo.id in space.photos and not photo.hidden]
            if len(there) > 1:
                sets.append({"photos": [self.copy_of(photo, there[0], copies[0], space) for photo in there]})
        self.send(200, {"state": "done", "done": 4, "total": 4, "unhashed": 1, "sets": sets})

    def copy_of(self, photo, first, kept, space):
        same = "kept" if photo is kept else "bytes" if photo.width == kept.width else "picture"
        about = photo.describe(space)
        return {key: about[key] for key in ("id", "name", "path", "kind", "size", "width", "height", "taken", "thumb")} | {
            "same": same, "surplus": same == "bytes" and first is kept, "ids": [photo.id]}

    def search_duplicates(self):
        self.json()
        self.duplicates()

    def chosen(self, space):
        known = {photo.id: photo for photo in space.deleted + sum(space.earlier.values(), [])}
        return [known[identifier] for identifier in self.json()["ids"]]

    def forget(self, space, photos):
        space.deleted = [photo for photo in space.deleted if photo not in photos]
        for identifier, versions in space.earlier.items():
            space.earlier[identifier] = [photo for photo in versions if photo not in photos]

    def restore(self):
        space = self.write()
        photos = self.chosen(space)
        self.forget(space, photos)
        for photo in photos:
            photo.hidden = False
            space.albums[photo.album].photos.append(photo)
            space.photos[photo.id] = photo
        space.touch({photo.album for photo in photos})
        self.send(200, {"count": len(photos), "renamed": 0})

    def purge(self):
        space = self.write()
        if spaces.get(self.json().get("password")) is not space:
            raise Refused(403, "refused")
        photos = self.chosen(space)
        self.forget(space, photos)
        self.send(200, {"count": len(photos)})

    def change_photo(self, identifier):
        space, asked = self.write(), self.json()
        photo = space.photos[identifier]
        if "name" in asked:
            if "/" in asked["name"] or not asked["name"]:
                raise Refused(400, "name")
            photo.name = asked["name"]
        if "rotation" in asked:
            photo.rotation, photo.thumb = asked["rotation"], photo.thumb + 1
        for name in ("favourite", "caption", "tags", "rating"):
            setattr(photo, name, asked.get(name, getattr(photo, name)))
        if "taken" in asked:
            time_of = asked["taken"]
            photo.taken = photo.original if time_of is None else calendar.timegm(
                time.strptime(time_of, "%Y-%m-%dT%H:%M:%S"))
        space.touch([photo.album])
        self.send(200, photo.describe(space))

    def favourites(self):
        space, asked = self.write(), self.json()
        photos = [space.photos[identifier] for identifier in asked["ids"]]
        for photo in photos:
            photo.favourite = asked["on"]
        space.touch({photo.album for photo in photos})
        self.send(200, {"count": len(photos)})

    def preview(self, identifier):
        photo = self.space.photos[identifier]
        if photo.content is not None:
            return self.send(200, photo.content, "image/png")
        self.send(200, photo.picture(min(1200, int(self.query["edge"]))), "image/png")

    def original(self, identifier):
        photo = self.space.photos[identifier]
        turned, photo_rotation = photo.rotation, 0
        photo.rotation = photo_rotation
        data = photo.content or landscape(photo.number % 24, photo.width // 4, photo.height // 4)
        photo.rotation = turned
        self.send(200, data, "image/png")

    def video(self, identifier):
        self.space.photos[identifier]
        data = base64.b64decode((HERE / "clip.webm.txt").read_bytes())
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if not match:
            return self.send(200, data, "video/webm", [("Accept-Ranges", "bytes")])
        start, end = int(match.group(1)), min(len(data) - 1, int(match.group(2) or len(data) - 1))
        self.send(206, data[start:end + 1], "video/webm", [("Content-Range", f"bytes {start}-{end}/{len(data)}")])

    # Reception from phones

    def open_reception(self):
        space = self.write()
        self.json()
        space.reception = {"id": "r" + secrets.token_hex(4), "asked": 0, "state": "open"}
        self.send(200, {"reception": space.reception["id"], "pin": "042137", "device": "Album",
                        "address": None if failures["loopback"] else "192.0.2.7", "port": 8443, "fingerprint": "AB" * 32})

    def reception(self, identifier):
        """Shows a phone that sends one file a second."""
        reception = self.space.reception
        if reception["id"] != identifier:
            raise Refused(404, "unknown")
        done = min(3, reception["asked"])
        reception["asked"] += 1
        self.send(200, {"state": failures["reception"] or reception["state"], "done": done % 3,
                        "total": 3 if 0 < done < 3 else 0, "saved": done, "failed": 0})

    def close_reception(self, identifier):
        self.body()
        self.space.reception["state"] = "closed"
        self.send(200, {})

    # Changes and jobs

    def changes(self):
        space, since = self.space, int(self.query["since"])
        deadline = time.time() + 25
        with space.changed:
            while space.revision <= since and time.time() < deadline:
                space.changed.wait(1)
                self.space
            news = [entry for entry in space.log if entry[0] > since]
            self.send(200, {"revision": str(space.revision), "albums": any(entry[1] for entry in news),
                            "in": sorted(set().union(*(entry[2] for entry in news)))})

    def create_job(self):
        space, asked = self.write(), self.json()
        items = [space.photos[identifier] for identifier in asked["ids"]]
        target = space.albums[asked["album"]] if asked["kind"] != "delete" else None

        def remove(photo):
            space.photos.pop(photo.id)
            space.deleted.insert(0, photo)
            if photo in space.albums[photo.album].photos:
                space.albums[photo.album].photos.remove(photo)
            for first in space.albums[photo.album].photos:
                if photo in first.others:
                    first.others.remove(photo)
                    first.group = first.group if first.others else 0

        def move(photo):
            space.albums[photo.album].photos.remove(photo)
            photo.album = target.id
            target.photos.append(photo)

        def copy(photo):
            other = space.add_photo(target, photo.name, photo.kind, (photo.width, photo.height), photo.taken,
                                    photo.modified)
            other.thumb = photo.thumb
        action = {"delete": remove, "move": move, "copy": copy}[asked["kind"]]
        self.send(200, {"job": start_job(space, asked["kind"], items, action)})

    def load(self):
        space, asked = self.write(), self.json()
        for url in asked["urls"]:
            if not url.startswith(("http://", "https://")):
                raise Refused(400, "address", detail=url)
        album = space.albums[asked["album"]]
        job = {"id": "j" + secrets.token_hex(4), "kind": "import", "state": "running", "done": 0,
               "total": len(asked["urls"]), "bytes": 0, "size": None, "errors": []}
        space.jobs[job["id"]] = job

        def run():
            for url in asked["urls"]:
                for part in range(1, 11):
                    if job["state"] == "cancelled":
                        return space.touch([album.id])
                    job["bytes"], job["size"] = part * 400_000, 4_000_000
                    time.sleep(failures["slowLoad"])
                job["bytes"], job["size"], job["done"] = 0, None, job["done"] + 1
                host = urllib.parse.urlsplit(url).hostname
                if host == "localhost":
                    job["errors"].append({"id": "", "name": url, "error": "local"})
                else:
                    space.add_photo(album, url.rsplit("/", 1)[1])
            job["state"] = "done"
            space.touch([album.id])
        threading.Thread(target=run, daemon=True).start()
        self.send(200, {"job": job})

    def job(self, identifier):
        self.send(200, {"job": self.space.jobs[identifier]})

    def cancel_job(self, identifier):
        job = self.space.jobs[identifier]
        self.body()
        if job["state"] in ("pending", "running"):
            job["state"] = "cancelled"
        self.send(200, {"job": job})

    def job_now(self, identifier):
        self.body()
        self.space.jobs[identifier]["now"] = True
        self.send(200, {"job": self.space.jobs[identifier]})

    def choose_download(self):
        space, asked = self.space, self.json()
        if "album" in asked:
            photos = space.albums[asked["album"]].photos
        else:
            photos = [space.photos[identifier] for identifier in asked["ids"]]
        identifier = secrets.token_hex(8)
        space.downloads[identifier] = photos
        self.send(200, {"download": identifier})

    def download(self, identifier):
        photos = self.space.downloads[identifier]
        if len(photos) == 1:
            name = urllib.parse.quote(photos[0].name)
            return self.send(200, photos[0].picture(400), "application/octet-stream",
                             [("Content-Disposition", f"attachment; filename*=UTF-8''{name}")])
        buffer = BytesIO()
        with ZipFile(buffer, "w") as archive:
            for photo in photos[:500]:
                archive.writestr(photo.name, photo.picture(64))
        self.send(200, buffer.getvalue(), "application/zip",
                  [("Content-Disposition", 'attachment; filename="Album.zip"')])

    # Upload

    def begin_upload(self):
        self.send(200, self.begun(self.write(), self.json()))

    def begin_batch(self):
        space = self.write()
        self.send(200, {"uploads": [self.begun(space, asked) for asked in self.json()["files"]]})

    def put_batch(self):
        space = self.space
        entries = [space.uploads[identifier] for identifier in self.query["uploads"].split(",")]
        length = int(self.headers["Content-Length"])
        assert length == sum(entry["size"] for entry in entries)
        if failures["full"]:
            self.rfile.read(length)
            return self.send(200, {"files": [{"error": "room"} for _ in entries]})
        outcomes = []
        for identifier, entry in [(key, space.uploads[key]) for key in self.query["uploads"].split(",")]:
            if random.random() < failures["dropUploads"]:
                entry["data"] += self.rfile.read(entry["size"] // 2)
                entry["proven"] = len(entry["data"])
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            if entry["data"]:
                self.start_over(entry)
            entry["data"] += self.rfile.read(entry["size"])
            entry["proven"] = len(entry["data"])
            outcomes.append(self.finished(space, identifier))
        self.send(200, {"files": outcomes})

    def begun(self, space, asked):
        if asked["album"] not in space.albums:
            raise Refused(404, "unknown")
        key = json.dumps([asked[part] for part in ("album", "folders", "name", "size", "modified")])
        hidden = space.hidden.setdefault(key, bytearray())
        upload = f"u{len(space.uploads)}-{random.randrange(1 << 30)}"
        space.uploads[upload] = {**asked, "data": hidden, "proven": 0}
        same = [p for p in self.folder(space, asked, make=False) if p.content is not None
                and len(p.content) == asked["size"]]
        return {"upload": upload, "offset": len(hidden), "candidate": bool(same)}

    def folder(self, space, asked, make=True):
        album = space.albums[asked["album"]]
        for name in asked["folders"]:
            inner = next((a for a in space.albums.values() if a.parent == album.id and a.name == name), None)
            if inner is None and not make:
                return []
            album = inner or space.add_album(album.id, name)
        return album if make else album.photos

    def put_slice(self, identifier):
        space = self.space
        entry = space.uploads[identifier]
        length = int(self.headers["Content-Length"])
        if failures["full"]:
            self.rfile.read(length)
            raise Refused(507, "room")
        if len(entry["data"]) != entry["proven"]:
            self.start_over(entry)
        if random.random() < failures["dropUploads"]:
            entry["data"] += self.rfile.read(length // 2)
            entry["proven"] = len(entry["data"])
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        data = self.rfile.read(length)
        if int(self.query["offset"]) != entry["proven"]:
            raise Refused(409, "invalid", offset=entry["proven"])
        entry["data"] += data
        entry["proven"] = len(entry["data"])
        self.send(200, {"offset": entry["proven"]})

    def start_over(self, entry):
        """Leaves the bytes to another upload."""
        entry["data"], entry["proven"] = bytearray(), 0

    def prove(self, identifier):
        entry, asked = self.space.uploads[identifier], self.json()
        end = entry["proven"] + asked["size"]
        part = bytes(entry["data"][entry["proven"]:end])
        if end <= len(entry["data"]) and hashlib.sha256(part).hexdigest() == asked["sha256"]:
            entry["proven"] = end
        else:
            self.start_over(entry)
        self.send(200, {"offset": entry["proven"]})

    def upload_state(self, identifier):
        self.send(200, {"offset": self.space.uploads[identifier]["proven"]})

    def finish_upload(self, identifier):
        self.body()
        self.send(200, self.finished(self.space, identifier))

    def finished(self, space, identifier):
        entry = space.uploads[identifier]
        if entry["proven"] != entry["size"]:
            raise Refused(409, "invalid", offset=entry["proven"])
        album = self.folder(space, entry)
        content = bytes(entry["data"])
        del space.uploads[identifier]
        space.hidden = {key: data for key, data in space.hidden.items() if data is not entry["data"]}
        twin = next((p for p in album.photos if p.content == content), None)
        if twin:
            return {"state": "there", "name": twin.name, "photo": twin.id}
        name, number = entry["name"], 1
        while any(photo.name == name for photo in album.photos):
            number += 1
            stem, extension = os.path.splitext(entry["name"])
            name = f"{stem} {number}{extension}"
        size = struct.unpack(">II", content[16:24]) if content[:4] == b"\x89PNG" else (0, 0)
        kind = "photo" if size[0] else "other"
        photo = space.add_photo(album, name, kind, size, None, entry["modified"])
        photo.content, photo.bytes = content, len(content)
        space.touch([album.id])
        time.sleep(0.02)
        return {"state": "saved", "name": name, "photo": photo.id}

    def same_upload(self, identifier):
        space, digest = self.space, self.json()["sha256"]
        entry = space.uploads[identifier]
        for photo in self.folder(space, entry, make=False):
            if photo.content is not None and hashlib.sha256(photo.content).hexdigest() == digest:
                del space.uploads[identifier]
                return self.send(200, {"state": "there", "name": photo.name, "photo": photo.id})
        self.send(200, {"state": "new"})

    def cancel_upload(self, identifier):
        self.body()
        self.space.uploads.pop(identifier, None)
        self.send(200, {})


ID = "([A-Za-z0-9_-]{1,32})"
ROUTES = [
    ("POST", "/api/login", Handler.login), ("GET", "/api/session", Handler.session),
    ("POST", "/api/lock", Handler.lock), ("POST", "/api/alive", Handler.alive),
    ("GET", "/api/albums", Handler.list_albums), ("POST", "/api/albums", Handler.create_album),
    ("POST", f"/api/albums/{ID}/delete", Handler.delete_album), ("POST", f"/api/albums/{ID}", Handler.change_album),
    ("GET", "/api/photos", Handler.list_photos), ("GET", "/api/thumbs", Handler.thumbs),
    ("GET", "/api/deleted", Handler.deleted), ("GET", f"/api/deleted/{ID}/thumb", Handler.deleted_thumb),
    ("POST", "/api/deleted/restore", Handler.restore), ("POST", "/api/deleted/purge", Handler.purge),
    ("GET", "/api/places", Handler.places), ("GET", "/api/duplicates", Handler.duplicates), ("POST", "/api/duplicates", Handler.search_duplicates),
    ("GET", f"/api/photo/{ID}/earlier", Handler.earlier),
    ("GET", f"/api/photo/{ID}", Handler.photo), ("POST", f"/api/photo/{ID}", Handler.change_photo),
    ("POST", "/api/favourites", Handler.favourites),
    ("GET", f"/api/preview/{ID}", Handler.preview), ("GET", f"/api/original/{ID}", Handler.original),
    ("GET", f"/api/video/{ID}", Handler.video), ("GET", f"/api/live/{ID}", Handler.video), ("GET", "/api/changes", Handler.changes),
    ("POST", "/api/imports", Handler.load), ("POST", "/api/jobs", Handler.create_job), ("GET", f"/api/jobs/{ID}", Handler.job),
    ("POST", f"/api/jobs/{ID}/cancel", Handler.cancel_job), ("POST", f"/api/jobs/{ID}/now", Handler.job_now),
    ("POST", "/api/downloads", Handler.choose_download), ("GET", f"/api/downloads/{ID}", Handler.download), ("POST", "/api/uploads", Handler.begin_upload),
    ("PUT", f"/api/uploads/{ID}", Handler.put_slice), ("GET", f"/api/uploads/{ID}", Handler.upload_state),
    ("POST", f"/api/uploads/{ID}/finish", Handler.finish_upload),
    ("POST", f"/api/uploads/{ID}/same", Handler.same_upload),
    ("POST", f"/api/uploads/{ID}/proof", Handler.prove),
    ("POST", f"/api/uploads/{ID}/cancel", Handler.cancel_upload),
    ("POST", "/api/batches", Handler.begin_batch), ("PUT", "/api/batches", Handler.put_batch),
    ("POST", "/api/receptions", Handler.open_reception), ("GET", f"/api/receptions/{ID}", Handler.reception),
    ("POST", f"/api/receptions/{ID}/close", Handler.close_reception),
]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


def serve(port=0, photos=100_000):
    """Starts the server in a thread; returns it. Its port is in `server_port`."""
    spaces.update({"some": some(), "empty": Space(), "sparse": sparse(), "fixed": some(60, read_only=True),
                   "wasted": wasted(), "groups": groups(), "twice": twice(), "twice-fixed": twice(read_only=True), "many": many(photos)})
    for seed in range(24):
        for width, height in SHAPES:
            scale = 150 / max(width, height)
            landscape(seed, int(width * scale), int(height * scale))
    server = Server(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--photos", type=int, default=100_000, help="in the space `many`")
    arguments = parser.parse_args()
    running = serve(arguments.port, arguments.photos)
    print(f"http://localhost:{running.server_port}/ with the passwords {', '.join(spaces)}")
    threading.Event().wait()

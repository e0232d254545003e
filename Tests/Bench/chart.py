"""A chart of a run as SVG: each row a line, each file system a dot, at its time relative to the best peer."""
from __future__ import annotations

import math
from html import escape

from report import TIMED, Table

LEFT, RIGHT, TOP, STEP = 300, 40, 84, 26
WIDTH = 960
# Dots farther out lie on the edge.
LEAST, MOST = 0.25, 16.0
TICKS = (0.25, 0.5, 1, 2, 4, 8, 16)
COLOURS = {"passthrough_ll": "#9a9a9a", "gocryptfs": "#3b7dd8", "securefs": "#2e9d6a", "CryFS": "#b07cc6",
           "EncFS": "#d08a2e", "albumfs": "#c8102e", "albumfs, io_uring": "#f26b7f"}


def across(ratio: float) -> float:
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def draw(table: Table, caption: str) -> str:
    keys = [key for key in table.rows() if key in TIMED
            and any(table.ratio(key, peer) for peer in table.peers)]
    bottom = TOP + len(keys) * STEP
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 44}" width="{WIDTH}" '
             f'height="{bottom + 44}" font-family="sans-serif" font-size="13">',
             f'<rect width="{WIDTH}" height="{bottom + 44}" fill="#ffffff"/>']
    place = 20
    for peer in table.peers:
        parts.append(f'<circle cx="{place}" cy="20" r="6" fill="{COLOURS.get(peer.name, "#000")}"/>')
        parts.append(f'<text x="{place + 11}" y="24.5" fill="#222">{escape(peer.name)}</text>')
        place += 34 + 7.4 * len(peer.name)
    parts.append('<text x="20" y="54" fill="#555">Time relative to the best peer that encrypts: left of 1 is '
                 'faster. passthrough_ll does not encrypt.</text>')
    for tick in TICKS:
        x = across(tick)
        parts.append(f'<line x1="{x:.1f}" y1="{TOP - 12}" x2="{x:.1f}" y2="{bottom}" '
                     f'stroke="{"#555" if tick == 1 else "#dddddd"}"/>')
        parts.append(f'<text x="{x:.1f}" y="{TOP - 16}" text-anchor="middle" fill="#555">{tick:g}</text>')
    for number, key in enumerate(keys):
        y = TOP + number * STEP + STEP / 2
        parts.append(f'<line x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}" stroke="#eeeeee"/>')
        parts.append(f'<text x="{LEFT - 14}" y="{y + 4.5}" text-anchor="end" fill="#222">'
                     f'{escape(table.title(key))}</text>')
        # The dots of albumfs lie on top.
        for peer in sorted(table.peers, key=lambda peer: peer.is_albumfs):
            if ratio := table.ratio(key, peer):
                parts.append(f'<circle cx="{across(ratio.value):.1f}" cy="{y}" r="{6.5 if peer.is_albumfs else 5}" '
                             f'fill="{COLOURS.get(peer.name, "#000")}" stroke="#ffffff">'
                             f'<title>{escape(peer.name)}: {ratio.value:.2f}</title></circle>')
    parts.append(f'<text x="20" y="{bottom + 28}" fill="#555" font-size="11">{escape(caption)}</text>')
    return "\n".join([*parts, "</svg>", ""])

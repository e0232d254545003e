"""The table of an attack, in Markdown, and its place in README.md."""
from __future__ import annotations

import collections
from pathlib import Path

from features import Record
from game import Score, Verdict

BEGIN, END = "<!-- attack table -->", "<!-- /attack table -->"


def of_score(score: Score) -> str:
    return f"{score.auc:.2f} ({score.low:.2f}–{score.high:.2f})"


def of_single(score: Score) -> str:
    chance = "chance" if score.p > 0.05 else f"p = {score.p:.0e}" if score.p >= 1e-9 else "p < 1e-9"
    return f"{score.name}: {of_score(score)}, {chance}"


def table(verdicts: list[Verdict]) -> str:
    lines = ["| observer | stores: one space / more | classifier: AUC | true positives at 1 % false "
             "| best single feature: AUC |", "|---|---|---|---|---|"]
    for one in verdicts:
        lines.append(f"| {one.observer} | {one.ones} / {one.more} | {of_score(one.classifier)} "
                     f"| {one.classifier.hits:.0%} | {of_single(one.single)} |")
    return "\n".join(lines)


def details(verdicts: list[Verdict]) -> str:
    lines = []
    for one in verdicts:
        lines.append(f"{one.observer}: {len(one.found)} single features tell")
        lines += [f"  {of_single(score)}, {score.hits:.0%} at 1 %" for score in one.found[:25]]
    return "\n".join(lines)


def summary(records: list[Record], seed: int) -> str:
    pools = collections.Counter(record.pool for record in records)
    spaces = collections.Counter(record.spaces for record in records)
    counted = ", ".join(f"{spaces[count]} with {count}" for count in sorted(spaces))
    return (f"{len(records)} stores (seed {seed}): by spaces {counted}; "
            f"{pools['total']} share the content of one, {pools['first']} hide more than that.")


def write(readme: Path, verdicts: list[Verdict], records: list[Record], seed: int) -> None:
    """Puts the table between its two marks; nothing else changes."""
    text = readme.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise SystemExit(f"{readme} has no place for the table: {BEGIN} and {END}, once each")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    readme.write_text(f"{before}{BEGIN}\n{table(verdicts)}\n\n{summary(records, seed)}\n{END}{after}")

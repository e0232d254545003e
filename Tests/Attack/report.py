"""The table of an attack, in Markdown, and its place in Deniability.md."""
from __future__ import annotations

import collections
import textwrap
from pathlib import Path

from features import Record
from game import Score, Verdict, surplus
from provider import Log

BEGIN, END = "<!-- attack table -->", "<!-- /attack table -->"


def of_score(score: Score) -> str:
    return f"{score.auc:.2f} ({score.low:.2f}–{score.high:.2f})"


def of_single(score: Score) -> str:
    chance = "chance" if score.p > 0.05 else f"p = {score.p:.0e}" if score.p >= 1e-9 else "p < 1e-9"
    return f"{score.name}: {of_score(score)}, {chance}"


def of_prediction(verdict: Verdict) -> str:
    if verdict.predicted is None:
        return ""
    mark = ", exceeded" if surplus(verdict) > 1.96 else ""
    return f"{verdict.predicted:.2f}{mark}"


def table(verdicts: list[Verdict]) -> str:
    lines = ["| observer | stores: one space / more | classifier: AUC | true positives at 1 % false "
             "| best single feature: AUC | by the rule of chaff |", "|---|---|---|---|---|---|"]
    for one in verdicts:
        lines.append(f"| {one.observer} | {one.ones} / {one.more} | {of_score(one.classifier)} "
                     f"| {one.classifier.hits:.0%} | {of_single(one.single)} "
                     f"| {of_prediction(one)} |")
    return "\n".join(lines)


def details(verdicts: list[Verdict]) -> str:
    lines = []
    for one in verdicts:
        lines.append(f"{one.observer}: {len(one.found)} single features tell")
        lines += [f"  {of_single(score)}, {score.hits:.0%} at 1 %" for score in one.found[:25]]
    return "\n".join(lines)


def unexplained(records: list[Record], pool: str) -> str:
    """The number of segments that the first password leaves unexplained, without chaff added by hand."""
    counts = sorted(record.chaff["unexplained"]["segments"] for record in records
                    if record.pool == pool and not record.has_claimed_chaff)
    if not counts:
        return "none"
    least, middle, most = counts[0], counts[len(counts) // 2], counts[-1]
    return f"{least} to {most}, {middle} in the middle"


def summary(records: list[Record], logs: list[Log], seed: int, is_tmpfs: bool) -> str:
    pools = collections.Counter(record.pool for record in records)
    spaces = collections.Counter(record.spaces for record in records)
    counted = ", ".join(f"{spaces[count]} with {count}" for count in sorted(spaces))
    return (f"{len(records)} stores (seed {seed}): by spaces {counted}. In {pools['total']} several spaces "
            f"share the content of one, in {pools['first']} the others hold as much again. Segments that the first "
            f"password leaves unexplained: {unexplained(records, 'one')} where there is one space, "
            f"{unexplained(records, 'first')} where there are more. All in segments of 256 KiB, a "
            "16th of the usual ones, as photos, chaff and the disk are. \"The disk itself\" is "
            + ("a tmpfs" if is_tmpfs else "the file system of TMPDIR")
            + ": its times of change and of birth and its inodes are looked at, "
            + ("which those of a real disk are like; the journal and the order of blocks of a real one, which a "
               "tmpfs does not have, are not." if is_tmpfs else "not its journal and its blocks.")
            + " The last column: the AUC of whoever has the first password and sees nothing but how many "
            "segments it leaves unexplained, in one copy or between two, computed from the rule of chaff and from "
            "what these stores hold; `exceeded` where the classifier does better by more than chance."
            + (f" {len(logs)} further stores lie in a SeaweedFS, whose provider sees the requests of their mounts; "
               "their spaces were made before." if logs else ""))


def wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 108))


def write(page: Path, verdicts: list[Verdict], text_below: str) -> None:
    """Puts the table between its two marks; nothing else changes."""
    text = page.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise SystemExit(f"{page} has no place for the table: {BEGIN} and {END}, once each")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    content = f"{table(verdicts)}\n\n{wrapped(text_below)}"
    page.write_text(f"{before}{BEGIN}\n{content}\n{END}{after}")

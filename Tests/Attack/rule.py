"""The limit that the rule of chaff sets: the best result of an observer with the first password who sees
nothing but the number of segments that this password leaves unexplained.

The rule is that of ChaffRule.swift, drawn anew here: none of the program's own draws goes into it. What the
other spaces hold is taken from the stores that were made.
"""
from __future__ import annotations

import dataclasses

import numpy

DRAWS = 400  # For each store.


@dataclasses.dataclass(frozen=True)
class Truth:
    """The secret facts about one store, in segments; `new`: those that appeared between the two copies."""
    limit: int  # No store on this disk is born with this many segments or more.
    claimed: int  # Chaff that the owner added by hand.
    claimed_new: int
    sessions: tuple[int, int]  # Segments of the first space, and of all spaces.
    sessions_new: tuple[int, int]
    made: tuple[int, int]
    made_new: tuple[int, int]


def at_birth(rng: numpy.random.Generator, limit: int) -> numpy.ndarray:
    """Each doubling is equally likely."""
    if limit < 1:
        return numpy.zeros(DRAWS, int)
    return numpy.minimum(limit - 1, numpy.exp(rng.random(DRAWS) * numpy.log(limit + 1)).astype(int) - 1)


def added(rng: numpy.random.Generator, sessions: int, made: int) -> numpy.ndarray:
    """One session in 8 and one new segment in 96 adds 1 to 16, log-uniform."""
    counts = rng.binomial(sessions, 1 / 8, DRAWS) + rng.binomial(made, 1 / 96, DRAWS)
    sizes = numpy.clip(numpy.exp(rng.random(counts.sum()) * numpy.log(17)).astype(int), 1, 16)
    sums = numpy.zeros(DRAWS, int)
    numpy.add.at(sums, numpy.repeat(numpy.arange(DRAWS), counts), sizes)
    return sums


def unexplained(rng: numpy.random.Generator, truth: Truth, is_between: bool) -> numpy.ndarray:
    """The number of segments in such a store that the first password does not explain."""
    if is_between:
        hidden = truth.made_new[1] - truth.made_new[0] + truth.claimed_new
        return hidden + added(rng, truth.sessions_new[1], truth.made_new[1])
    hidden = truth.made[1] - truth.made[0] + truth.claimed
    return hidden + at_birth(rng, truth.limit) + added(rng, truth.sessions[1], truth.made[1])


def predicted_auc(ones: list[Truth], more: list[Truth], seed: int, is_between: bool) -> float:
    """The AUC of an observer who knows how common each count is among stores of either kind, and nothing else."""
    rng = numpy.random.default_rng(seed)
    one, other = (numpy.concatenate([unexplained(rng, truth, is_between) for truth in some])
                  for some in (ones, more))
    # Counts from 32 on share a bin with their neighbours, so that no bin is told by chance alone.
    edges = numpy.unique(numpy.concatenate([numpy.arange(33), numpy.geomspace(33, 1e6, 80).astype(int)]))
    a, b = (numpy.histogram(some, numpy.append(edges - 0.5, 1e9))[0] / len(some) for some in (one, other))
    order = numpy.argsort((b + 1e-12) / (a + 1e-12))
    a, b = a[order], b[order]
    return float((b * (numpy.cumsum(a) - a / 2)).sum())


def self_test(seed: int) -> list[str]:
    """The errors of the draws, one sentence each."""
    rng = numpy.random.default_rng(seed)

    def store(hidden: int) -> Truth:
        return Truth(256, 0, 0, (6, 6), (3, 3), (80, 80 + hidden), (30, 30 + hidden))

    problems = []
    for hidden, is_between, expected in ((0, False, (0.47, 0.53)), (0, True, (0.47, 0.53)),
                                         (5000, False, (0.99, 1.01)), (40, True, (0.95, 1.01))):
        auc = predicted_auc([store(0)] * 50, [store(hidden)] * 50, seed, is_between)
        if not expected[0] <= auc <= expected[1]:
            problems.append(f"self-test: {hidden} hidden segments are told with an AUC of {auc:.3f}")
    # According to the tables of Deniability.md: 25 % of the stores are born with 64 segments or more where 256 are the limit, and
    # one session with 100 new segments adds 8 or more in 32 % of the cases.
    for name, found, share in (("at birth", numpy.concatenate([at_birth(rng, 256) for _ in range(50)]) >= 64, 0.25),
                               ("added", numpy.concatenate([added(rng, 1, 100) for _ in range(50)]) >= 8, 0.32)):
        if abs(found.mean() - share) > 0.02:
            problems.append(f"self-test: chaff {name} is drawn with {found.mean():.3f}, not {share}")
    return problems

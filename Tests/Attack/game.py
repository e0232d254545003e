"""The game: one space, or more? Scores observers by how well they distinguish the two.

The classifier is a random forest. Each store is scored by forests that have not seen it (stratified
cross-validation, repeated and averaged), so that the figures hold for new stores of the same kind.
"""
from __future__ import annotations

import dataclasses
import math
import os
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy
from scipy.stats import mannwhitneyu, norm
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

Features = dict[str, float]


@dataclasses.dataclass(frozen=True)
class Score:
    """How well a number distinguishes stores with more spaces from those with one."""
    name: str
    auc: float
    low: float  # 95 % interval of the AUC.
    high: float
    hits: float  # True-positive rate where at most 1 % of the stores with one space are accused.
    p: float  # p for the hypothesis that nothing shows; corrected if several numbers were tried.


@dataclasses.dataclass(frozen=True)
class Verdict:
    observer: str
    ones: int
    more: int
    classifier: Score
    single: Score
    found: tuple[Score, ...]  # All single features with p below 0.01, best first.
    predicted: float | None = None  # The AUC that an observer reaches by the rule of chaff alone.


def auc_interval(ones: numpy.ndarray, more: numpy.ndarray, z: float) -> tuple[float, float, float]:
    """The AUC and its interval by DeLong's variance.

    If everything is distinguished, that variance is zero, and the bound is that of the "rule of three".
    """
    def places(some: numpy.ndarray, others: numpy.ndarray) -> numpy.ndarray:
        others = numpy.sort(others)
        below = numpy.searchsorted(others, some, "left")
        return (below + numpy.searchsorted(others, some, "right")) / 2 / len(others)

    of_more, of_ones = places(more, ones), 1 - places(ones, more)
    auc = float(of_more.mean())
    error = math.sqrt(of_more.var(ddof=1) / len(more) + of_ones.var(ddof=1) / len(ones))
    reach = z * error if error > 0 else 3 / min(len(ones), len(more))
    return auc, max(0.0, auc - reach), min(1.0, auc + reach)


def hits_at(ones: numpy.ndarray, more: numpy.ndarray, accused: float = 0.01) -> float:
    """With fewer than 100 stores of one space, the observer may accuse none of them."""
    bound = numpy.sort(ones)[::-1][int(accused * len(ones))]
    return float((more > bound).mean())


def score(name: str, ones: numpy.ndarray, more: numpy.ndarray, tried: int = 1) -> Score:
    """`tried`: the count of tried numbers. Interval and p hold for all of them at once (Bonferroni)."""
    if numpy.ptp(numpy.concatenate([ones, more])) == 0:
        return Score(name, 0.5, 0.5, 0.5, 0.0, 1.0)
    z = float(norm.isf(0.025 / tried))
    p = min(1.0, float(mannwhitneyu(ones, more, alternative="two-sided").pvalue) * tried)
    return Score(name, *auc_interval(ones, more, z), hits_at(ones, more), p)


def single_scores(names: list[str], ones: numpy.ndarray, more: numpy.ndarray) -> list[Score]:
    """Scores each feature on its own, best first. Features that fall with the number of spaces are inverted."""
    scores = []
    for column, name in enumerate(names):
        a, b = ones[:, column], more[:, column]
        one = score(name, a, b, len(names))
        scores.append(one if one.auc >= 0.5 else score(f"− {name}", -a, -b, len(names)))
    return sorted(scores, key=lambda one: (one.p, -one.auc))


def forest_scores(ones: numpy.ndarray, more: numpy.ndarray, seed: int, repeats: int, trees: int
                  ) -> tuple[numpy.ndarray, numpy.ndarray]:
    data = numpy.concatenate([ones, more])
    truth = numpy.concatenate([numpy.zeros(len(ones)), numpy.ones(len(more))]).astype(int)
    scores = numpy.zeros(len(truth))
    folds = max(2, min(5, len(ones), len(more)))
    for repeat in range(repeats):
        parts = StratifiedKFold(folds, shuffle=True, random_state=seed + repeat)
        for train, test in parts.split(data, truth):
            forest = RandomForestClassifier(trees, min_samples_leaf=3, max_features=0.3,
                                            class_weight="balanced", random_state=seed + repeat)
            forest.fit(data[train], truth[train])
            scores[test] += forest.predict_proba(data[test])[:, 1]
    return scores[truth == 0], scores[truth == 1]


def play(observer: str, ones: list[Features], more: list[Features], seed: int, is_quick: bool,
         predicted: float | None = None) -> Verdict:
    names = sorted(ones[0])
    if any(sorted(features) != names for features in ones + more):
        raise ValueError(f"{observer}: not all stores have the same features")
    a, b = (numpy.array([[features[name] for name in names] for features in some], float)
            for some in (ones, more))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        singles = single_scores(names, a, b)
        repeats, trees = (1, 100) if is_quick else (3, 200)
        classifier = score("classifier", *forest_scores(a, b, seed % 2**31, repeats, trees))
    found = tuple(one for one in singles if one.p < 0.01)
    return Verdict(observer, len(ones), len(more), classifier, singles[0], found, predicted)


# A promise is broken if chance alone shows as much less often than this.
LEVEL = 1e-4


def least_found(count: int) -> float:
    """Returns the least AUC of a classifier that `is_broken` notices with this many stores of each kind."""
    return 0.5 + float(norm.isf(LEVEL / 2)) * math.sqrt((2 * count + 1) / (12 * count * count))


def is_broken(verdict: Verdict, level: float = LEVEL) -> str | None:
    """Describes how the promise is clearly broken for an observer who should see nothing; None if it is not."""
    for one in (verdict.classifier, verdict.single):
        if one.p < level and one.auc > 0.5:
            return (f"{verdict.observer}: {one.name} tells stores with more spaces from those with one: "
                    f"AUC {one.auc:.2f} ({one.low:.2f} to {one.high:.2f}), p = {one.p:.1g}")
    return None


def surplus(verdict: Verdict) -> float:
    """Returns by how many deviations the classifier is better than the rule of chaff allows."""
    if verdict.predicted is None:
        return 0
    score = verdict.classifier
    # The interval, where it is not cut off at 0 or 1, reaches 1.96 deviations to either side.
    error = max(score.high - score.auc, score.auc - score.low) / float(norm.isf(0.025))
    return (score.auc - verdict.predicted) / max(error, 1e-9)


def exceeds(verdict: Verdict, level: float = LEVEL) -> str | None:
    """Describes a leak besides the number of unexplained segments; None if there is clearly none."""
    if surplus(verdict) <= float(norm.isf(level)):
        return None
    return (f"{verdict.observer}: the classifier has an AUC of {verdict.classifier.auc:.2f} "
            f"({verdict.classifier.low:.2f} to {verdict.classifier.high:.2f}), where the rule of chaff lets it have "
            f"{verdict.predicted:.2f}: stores show more than how much is unexplained")


def self_test(seed: int, count: int) -> list[str]:
    """Shows that the game can be won and lost with `count` stores of each kind: what it says wrongly, one
    sentence each."""
    rng = numpy.random.default_rng(seed)

    def stores(leak: float, rare: bool) -> tuple[list[Features], list[Features]]:
        pools: list[list[Features]] = []
        for is_more in (False, True):
            pool = []
            for place in range(count):
                shift = leak * is_more * (not rare or place % 10 > 0)
                noise = {f"noise {n}": float(rng.normal()) for n in range(60)}
                pool.append(noise | {"leak": float(rng.normal() * (not rare)) + shift})
            pools.append(pool)
        return pools[0], pools[1]

    problems = []
    for what, leak, rare, expected in (("a leak in a number of every store", 3.0, False, True),
                                       ("a trace that nine stores in ten bear", 1.0, True, True),
                                       ("noise", 0.0, False, False)):
        broken = is_broken(play(what, *stores(leak, rare), seed, is_quick=True))
        if (broken is not None) != expected:
            found = f"taken for a leak: {broken}" if broken else "not found"
            problems.append(f"self-test: {what} is {found}")
    return problems

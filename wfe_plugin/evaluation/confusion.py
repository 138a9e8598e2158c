"""Table 4 of Suzuki and Nagata (2017): true word counts against estimated ones.

Arrays are numpy's or torch's, of shape (sentences, vocabulary). Columns that never
stand for a word of a summary (padding, end of sentence) are the caller's to leave
out: they would count among the words that a sentence is allowed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

TRUE_COUNTS = ("1", "2", ">=3")
ESTIMATES = ("0", "1", "2", "3", ">=4")


def as_array(values) -> np.ndarray:
    """Take a numpy array, or a torch tensor of any device and precision."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        # numpy has no bfloat16, and a half holds too few digits for what follows.
        values = values.double() if values.is_floating_point() else values
    return np.asarray(values)


def confusion_matrix(a_hat, target_counts) -> np.ndarray:
    """Count words by true count and by floor(a_hat + 0.5), as Table 4 does.

    Returns int64 of shape (3, 5): rows ``TRUE_COUNTS``, columns ``ESTIMATES``. Only
    words that occur in the target are counted.
    """
    a_hat, target_counts = as_array(a_hat), as_array(target_counts)
    present = target_counts >= 1
    # In single precision 0.49999997 + 0.5 would round to 1.
    estimates = a_hat[present].astype(np.float64)
    columns = np.floor(np.minimum(estimates, len(ESTIMATES)) + 0.5).astype(np.int64)
    columns = np.minimum(columns, len(ESTIMATES) - 1)
    rows = np.minimum(target_counts[present].astype(np.int64), len(TRUE_COUNTS)) - 1
    matrix = np.zeros((len(TRUE_COUNTS), len(ESTIMATES)), dtype=np.int64)
    np.add.at(matrix, (rows, columns), 1)
    return matrix


def recall(matrix: np.ndarray) -> float:
    """Share of the target's words that are estimated to occur at least once, in percent."""
    total = matrix.sum()
    return 100 * float(matrix[:, 1:].sum() / total) if total else 0.0


def allowed_words(r_hat) -> np.ndarray:
    """For each sentence, how many words the bound lets the decoder use at all (r_hat > 0)."""
    return (as_array(r_hat) > 0).sum(axis=-1)


def allowed_target_words(r_hat, target_counts) -> int:
    """How many of the targets' words, once per sentence, the bound allows (r_hat > 0)."""
    r_hat, target_counts = as_array(r_hat), as_array(target_counts)
    return int(((r_hat > 0) & (target_counts >= 1)).sum())


@dataclass
class FrequencyReport:
    """Table 4 and the budgets, accumulated batch by batch."""

    matrix: np.ndarray = field(default_factory=lambda: np.zeros((len(TRUE_COUNTS), len(ESTIMATES)), dtype=np.int64))
    sentences: int = 0
    allowed: int = 0
    allowed_in_target: int = 0

    def add(self, a_hat, r_hat, target_counts) -> None:
        """Add a batch; all three have shape (sentences, vocabulary)."""
        self.matrix += confusion_matrix(a_hat, target_counts)
        self.allowed_in_target += allowed_target_words(r_hat, target_counts)
        allowed = allowed_words(r_hat)
        self.allowed += int(allowed.sum())
        self.sentences += len(allowed)

    @property
    def recall(self) -> float:
        """Share of the targets' words with floor(a_hat + 0.5) >= 1, in percent."""
        return recall(self.matrix)

    @property
    def allowed_recall(self) -> float:
        """Share of the targets' words that the bound allows at all, in percent."""
        total = int(self.matrix.sum())
        return 100 * self.allowed_in_target / total if total else 0.0

    @property
    def mean_allowed_words(self) -> float:
        """Words per sentence with r_hat > 0."""
        return self.allowed / self.sentences if self.sentences else 0.0

    def as_dictionary(self) -> dict:
        """Everything, as JSON values."""
        return {
            "true_counts": list(TRUE_COUNTS),
            "estimates": list(ESTIMATES),
            "matrix": self.matrix.tolist(),
            "recall": self.recall,
            "allowed_recall": self.allowed_recall,
            "mean_allowed_words": self.mean_allowed_words,
            "sentences": self.sentences,
        }

    def table(self) -> str:
        """The matrix as text, rows true counts, columns estimates."""
        lines = ["true \\ estimated" + "".join(f"{label:>10}" for label in ESTIMATES)]
        for label, row in zip(TRUE_COUNTS, self.matrix):
            lines.append(f"{label:>16}" + "".join(f"{count:>10,}" for count in row))
        return "\n".join(lines)

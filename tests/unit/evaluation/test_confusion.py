"""The confusion matrix of estimated frequencies (Table 4 of the paper)."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from wfe_plugin.evaluation.confusion import FrequencyReport, allowed_words, confusion_matrix, recall

PAPER = np.array([[7014, 7064, 1784, 16, 4], [51, 95, 60, 0, 0], [2, 4, 1, 0, 0]])


def test_two_sentences_by_hand():
    a_hat = np.array([[0.0, 0.49, 0.5, 9.0], [1.49, 1.5, 3.4, 3.5]])
    counts = np.array([[1, 1, 1, 0], [1, 2, 3, 7]])
    assert confusion_matrix(a_hat, counts).tolist() == [
        [2, 2, 0, 0, 0],  # 0, 0.49; 0.5, 1.49
        [0, 0, 1, 0, 0],  # 1.5
        [0, 0, 0, 1, 1],  # 3.4 for a count of 3; 3.5 for one of 7
    ]


def test_recall_of_the_papers_table():
    # 7014 + 51 + 2 of the 16,095 words were estimated not to occur.
    assert recall(PAPER) == pytest.approx(100 * (16095 - 7067) / 16095)


def test_rounding_happens_in_double_precision():
    just_below = np.array([[np.nextafter(np.float32(0.5), np.float32(0))]])
    assert just_below.dtype == np.float32
    assert confusion_matrix(just_below, np.array([[1]]))[0, 0] == 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_torch_tensors(dtype):
    a_hat = torch.tensor([[0.25, 1.0, 6.0]], dtype=dtype, requires_grad=True)
    counts = torch.tensor([[1, 1, 2]])
    expected = [[1, 1, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]]
    assert confusion_matrix(a_hat, counts).tolist() == expected


def test_infinite_estimates_are_at_least_four():
    assert confusion_matrix(np.array([[math.inf]]), np.array([[1]]))[0, 4] == 1


def test_allowed_words_by_hand():
    assert allowed_words(np.array([[0.0, 1e-9, 2.0], [0.0, 0.0, 0.0]])).tolist() == [2, 0]


def test_report_by_hand():
    report = FrequencyReport()
    report.add(
        a_hat=torch.tensor([[0.9, 0.1, 0.0]]),
        r_hat=torch.tensor([[1.0, 0.2, 0.0]]),
        target_counts=torch.tensor([[1, 1, 1]]),
    )
    report.add(
        a_hat=torch.tensor([[2.2, 0.0, 0.0]]),
        r_hat=torch.tensor([[2.5, 0.0, 0.3]]),
        target_counts=torch.tensor([[2, 0, 0]]),
    )
    assert report.matrix.tolist() == [[2, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]
    assert report.recall == 50
    assert report.allowed_recall == 75
    assert report.mean_allowed_words == 2
    assert report.table().splitlines()[1].split() == ["1", "2", "1", "0", "0", "0"]


def test_an_empty_report():
    report = FrequencyReport()
    assert (report.recall, report.allowed_recall, report.mean_allowed_words) == (0, 0, 0)


def literal_matrix(a_hat, counts):
    matrix = [[0] * 5 for _ in range(3)]
    for estimates, truths in zip(a_hat, counts):
        for estimate, truth in zip(estimates, truths):
            if truth >= 1:
                matrix[min(truth, 3) - 1][min(math.floor(estimate + 0.5), 4)] += 1
    return matrix


words = st.lists(st.tuples(st.floats(0, 8), st.integers(0, 5)), min_size=6, max_size=6)


@given(st.lists(words, min_size=1, max_size=4))
def test_against_a_literal_count_in_any_batching(sentences):
    a_hat = np.array([[estimate for estimate, _ in sentence] for sentence in sentences])
    counts = np.array([[truth for _, truth in sentence] for sentence in sentences])
    expected = literal_matrix(a_hat.tolist(), counts.tolist())
    assert confusion_matrix(a_hat, counts).tolist() == expected
    report = FrequencyReport()
    for row in range(len(sentences)):
        report.add(a_hat[[row]], a_hat[[row]], counts[[row]])
    assert report.matrix.tolist() == expected
    assert report.mean_allowed_words == pytest.approx((a_hat > 0).sum() / len(sentences))

"""How often may each target word occur? Figure 2 and Equation 3 of the paper."""

from collections.abc import Iterable
from typing import NamedTuple, Optional

import torch
from torch import Tensor, nn

# How far gates are open at the start of training: g is this many times the mean
# spread of the votes of lines 4 to 6. See `WordFrequencyEstimator.open_gates`.
OPEN_GATE = 25.0


class FrequencyEstimate(NamedTuple):
    """What the WFE sub-model says of each sentence (Figure 2, output).

    Both are float32 tensors of shape (sentences, vocabulary), before their
    activation functions.
    """

    r: Tensor
    g: Tensor

    @property
    def r_hat(self) -> Tensor:
        """r̂ = ReLU(r), the upper bound on the frequency (Equation 3)."""
        return torch.relu(self.r)

    @property
    def g_hat(self) -> Tensor:
        """ĝ = sigmoid(g), the gate: does the word occur at all? (Equation 3)."""
        return torch.sigmoid(self.g)

    @property
    def log_g_hat(self) -> Tensor:
        """log ĝ, finite even where ĝ itself would underflow to zero."""
        return nn.functional.logsigmoid(self.g)

    @property
    def a_hat(self) -> Tensor:
        """â = r̂ ⊙ ĝ, the estimated frequency (Equation 3)."""
        return self.r_hat * self.g_hat


class BudgetEstimate(FrequencyEstimate):
    """As :class:`FrequencyEstimate`; training keeps r away from zero, see `estimate_loss`."""


class WordLogits(NamedTuple):
    """One number for each sentence and word, not computed yet.

        features · weightᵀ + bias, and votes[s, t] more at the word words[s, t]

    A vocabulary is large: what is computed in slices of it never needs more
    memory than a slice.
    """

    features: Tensor  # (sentences, size)
    weight: Tensor  # (vocabulary, size)
    bias: Optional[Tensor] = None  # (vocabulary,)
    votes: Optional[Tensor] = None  # (sentences, time)
    words: Optional[Tensor] = None  # (sentences, time), word indices

    def of_words(self, start: int, stop: int) -> Tensor:
        """(sentences, stop - start), for the words of that range of indices."""
        bias = None if self.bias is None else self.bias[start:stop]
        logits = nn.functional.linear(self.features, self.weight[start:stop], bias)
        # At least in float32 from here on: sums of squares over a large vocabulary
        # overflow half precision.
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        if self.votes is not None and self.words is not None:
            places, inside = places_in_slice(self.words, start, stop)
            votes = self.votes.type_as(logits).masked_fill(~inside, 0.0)
            logits = logits.scatter_add(1, places, votes)
        return logits


def places_in_slice(words: Tensor, start: int, stop: int) -> tuple[Tensor, Tensor]:
    """Where words stand in a slice of the vocabulary, and which of them do at all.

    Args:
        words: word indices, any shape

    Returns:
        columns of the slice, 0 for words elsewhere; True at words of the slice
    """
    inside = words.ge(start) & words.lt(stop)
    return (words - start).masked_fill(~inside, 0), inside


class PendingEstimate(NamedTuple):
    """What the WFE sub-model has read of a batch; the estimate is yet to be made."""

    r: WordLogits
    g: WordLogits
    kind: type[FrequencyEstimate]  # what the numbers mean

    @property
    def vocabulary_size(self) -> int:
        return self.r.weight.size(0)

    def of_words(self, start: int, stop: int) -> FrequencyEstimate:
        """The estimate for the words of a range of indices."""
        return self.kind(self.r.of_words(start, stop), self.g.of_words(start, stop))

    def whole(self) -> FrequencyEstimate:
        return self.of_words(0, self.vocabulary_size)


def sum_over_time(states: Tensor, padding: Tensor) -> Tensor:
    """Sum of the states at real positions.

    Args:
        states: (time, sentences, features)
        padding: (time, sentences), True at padded positions

    Returns:
        (sentences, features)
    """
    return states.masked_fill(padding.unsqueeze(-1), 0.0).sum(dim=0)


def max_and_min_over_time(states: Tensor, padding: Tensor) -> Tensor:
    """Element-wise maximum and minimum of the states at real positions.

    Args:
        states: (time, sentences, features)
        padding: (time, sentences), True at padded positions

    Returns:
        (sentences, 2 * features): the maxima, then the minima
    """
    padding = padding.unsqueeze(-1)
    highest = states.masked_fill(padding, float("-inf")).amax(dim=0)
    lowest = states.masked_fill(padding, float("inf")).amin(dim=0)
    return torch.cat((highest, lowest), dim=-1)


def padding_to_the_right(states: Tensor, padding: Tensor, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same batch with the real positions of each sentence first, in their order.

    Args:
        states: (time, sentences, features)
        padding: (time, sentences), True at positions that are not the sentence's, wherever they are
        words: (time, sentences)
    """
    if not (padding[:-1] & ~padding[1:]).any():
        return states, padding, words
    order = padding.long().argsort(dim=0, stable=True)
    moved = states.gather(0, order.unsqueeze(-1).expand_as(states))
    return moved, padding.gather(0, order), words.gather(0, order)


class Estimator(nn.Module):
    """What all estimators have: how many training summaries each word is in.

    The counts are integers, so that half precision leaves them as they are, and they travel
    inside the checkpoint.

    Args:
        vocabulary_size: M, the size of the target vocabulary
    """

    base_counts: Tensor
    base_pairs: Tensor

    def __init__(self, vocabulary_size: int):
        super().__init__()
        self.register_buffer("base_counts", torch.zeros(vocabulary_size, dtype=torch.long))
        self.register_buffer("base_pairs", torch.zeros((), dtype=torch.long))

    def count_base_rates(self, summaries: Iterable[Tensor]) -> None:
        """Count, once and for all, in how many summaries (word indices each) every word occurs."""
        counts, pairs = torch.zeros_like(self.base_counts, device="cpu"), 0
        for words in summaries:
            counts[torch.as_tensor(words).long().unique()] += 1
            pairs += 1
        self.base_counts.copy_(counts)
        self.base_pairs.fill_(pairs)

    def log_base_rate(self) -> Optional[Tensor]:
        """log p̄(w) = log (summaries that have w + ½) / (summaries + 1), (vocabulary,); None if not counted."""
        if self.base_pairs == 0:
            return None
        return torch.log((self.base_counts.float() + 0.5) / (self.base_pairs.float() + 1.0))

    def upgrade_state(self, state: dict[str, Tensor], prefix: str) -> None:
        """Make the weights of an older version, in *state* under *prefix*, fit this one."""
        for name in ("base_counts", "base_pairs"):
            state.setdefault(prefix + name, torch.zeros_like(getattr(self, name)))

    def read(
        self,
        states: Tensor,
        padding: Tensor,
        source_words: Optional[Tensor] = None,
    ) -> PendingEstimate:
        """What there is to say of a batch, up to the products with the vocabulary's matrices.

        Args:
            states: encoder states h_1..h_I, (time, sentences, H)
            padding: (time, sentences), True at padded positions
            source_words: (time, sentences), the source in the target vocabulary,
                negative where that lacks a word
        """
        raise NotImplementedError

    def forward(self, *args: Tensor) -> FrequencyEstimate:
        """The estimate as a whole; the arguments are those of :meth:`read`."""
        return self.read(*args).whole()


class LiteralEstimator(Estimator):
    """The WFE sub-model to the letter: from encoder states to r and g (Figure 2).

    Args:
        state_size: H, the size of an encoder state
        vocabulary_size: M, the size of the target vocabulary
    """

    scale_of_sum = 1.0  # of line 1
    frequency_bias: Optional[nn.Parameter]  # not in Figure 2
    kind = FrequencyEstimate

    def __init__(self, state_size: int, vocabulary_size: int):
        super().__init__(vocabulary_size)
        self.frequency_hidden = nn.Linear(state_size, state_size, bias=False)  # W1r
        self.frequency_output = nn.Linear(state_size, vocabulary_size, bias=False)  # W2r
        self.occurrence_hidden = nn.Linear(state_size, state_size, bias=False)  # W1g
        self.occurrence_output = nn.Linear(2 * state_size, vocabulary_size, bias=False)  # W2g
        self.register_parameter("frequency_bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Estimates start near zero: the loss sums over the whole vocabulary, and
        a random start would drown the NLL for many updates.
        """
        for hidden in (self.frequency_hidden, self.occurrence_hidden):
            nn.init.xavier_uniform_(hidden.weight)
        for output in (self.frequency_output, self.occurrence_output):
            nn.init.normal_(output.weight, std=0.01)
        self.open_gates()

    def open_gates(self) -> None:
        """Training starts with open gates.

        The loss sees only the product â = r̂ ⊙ ĝ, while decoding spends r̂. From
        random gates it learns products such as 2 × 0.5 for words that occur
        once, and the budget of 2 lets them repeat. From open gates it learns
        frequencies in r̂ first. Maxima are above minima, so weights of +w for
        the maxima and -w for the minima make g positive whatever the sentence.
        """
        state_size = self.occurrence_hidden.out_features
        with torch.no_grad():
            self.occurrence_output.weight[:, :state_size] += OPEN_GATE / state_size
            self.occurrence_output.weight[:, state_size:] -= OPEN_GATE / state_size

    def read(
        self,
        states: Tensor,
        padding: Tensor,
        source_words: Optional[Tensor] = None,
    ) -> PendingEstimate:
        """Lines 1 to 7 up to the products with the vocabulary's matrices; the source's words are not looked at."""
        # Lines 1 and 2 are linear: summing before multiplying gives the same
        # result with one product per sentence instead of one per position.
        frequency = self.frequency_hidden(self.scale_of_sum * sum_over_time(states, padding))
        votes = self.occurrence_hidden(states)  # line 4
        occurrence = max_and_min_over_time(votes, padding)  # lines 5 and 6
        return PendingEstimate(
            WordLogits(frequency, self.frequency_output.weight, self.frequency_bias),  # line 3
            WordLogits(occurrence, self.occurrence_output.weight),  # line 7
            self.kind,
        )


class WordFrequencyEstimator(LiteralEstimator):
    """Figure 2 as it can be trained: the sum is divided by a constant, and r has a bias for each word.

    Under Adam a step moves r by about lr·‖Σh‖₁: with sums over 30 states, most true words end with r̂ = 0,
    where no gradient leads back. The division changes no function that the sub-model can compute. The bias
    is ours, and so is the price of an r below LEAST_BUDGET: every word starts with the same budget above
    zero, and keeps one.
    """

    kind = BudgetEstimate

    scale_of_sum = 1.0 / 30.0

    def __init__(self, state_size: int, vocabulary_size: int):
        super().__init__(state_size, vocabulary_size)
        nn.init.zeros_(self.frequency_output.weight)
        self.frequency_bias = nn.Parameter(torch.full((vocabulary_size,), 0.2))

    def upgrade_state(self, state: dict[str, Tensor], prefix: str) -> None:
        """Version 0.1.0 had neither: the same function with weights W1r times 30 and a bias of zero."""
        super().upgrade_state(state, prefix)
        if prefix + "frequency_bias" not in state:
            vocabulary_size = self.frequency_output.out_features
            state[prefix + "frequency_bias"] = torch.zeros(vocabulary_size)
            weight = prefix + "frequency_hidden.weight"
            state[weight] = state[weight] / self.scale_of_sum

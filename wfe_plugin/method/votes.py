"""The estimator of our own: each word of the source votes for itself.

Most words of a headline are in its source, and which ones matter can be learnt from little data and
holds for other texts. An LSTM of the estimator's own reads the encoder's states and what can be seen
of a position without them; a small network then says how much the position votes for its word: for its
occurrence and for its repetition. Words that the source lacks are judged by the context as a whole,
through a matrix of low rank, so that the estimator stays small beside the model.
"""

from typing import Optional

import torch
from torch import Tensor, nn

from wfe_plugin.method.bidirectional import run_bidirectional
from wfe_plugin.method.dropout import Dropout
from wfe_plugin.method.estimator import (
    Estimator,
    PendingEstimate,
    WordLogits,
    max_and_min_over_time,
    padding_to_the_right,
)
from wfe_plugin.method.hurdle import RARE, RARELY_AGAIN, HurdleEstimate

# Of the estimator's own LSTM, each direction, and of its network.
HIDDEN_SIZE = 128
# Numbers that the context is reduced to, for words that the source may lack.
RANK = 64
DROPOUT = 0.2


class VotingEstimator(Estimator):
    """P(word occurs | source) and how often it then does, by maximum likelihood.

    g = logit p̄(w) + bias(w) + context · output(w) + Σ votes of the positions that have w, and
    r = bias'(w) + Σ of their other votes.

    Args:
        state_size: H, the size of an encoder state
        vocabulary_size: M, the size of the target vocabulary
    """

    def __init__(self, state_size: int, vocabulary_size: int):
        super().__init__(vocabulary_size)
        self.lstm = nn.LSTM(state_size + FEATURES, HIDDEN_SIZE, bidirectional=True)
        read_size = state_size + 2 * HIDDEN_SIZE
        self.judge = nn.Linear(read_size + FEATURES, HIDDEN_SIZE)
        self.votes = nn.Linear(HIDDEN_SIZE, 2)
        self.context = nn.Linear(2 * read_size, RANK)
        self.output = nn.Linear(RANK, vocabulary_size, bias=False)
        self.source_bias = nn.Parameter(torch.zeros(vocabulary_size))  # where the source has the word
        self.occurrence_bias = nn.Parameter(torch.zeros(vocabulary_size))
        self.frequency_bias = nn.Parameter(torch.full((vocabulary_size,), RARELY_AGAIN))
        self.dropout = Dropout(DROPOUT)
        nn.init.normal_(self.context.weight, std=0.01)
        nn.init.normal_(self.output.weight, std=0.01)
        nn.init.zeros_(self.votes.weight)
        nn.init.ones_(self.votes.bias)

    def log_rates(self) -> Tensor:
        """log p̄, (vocabulary,); the same for all words where nothing was counted."""
        counted = self.log_base_rate()
        return torch.full_like(self.occurrence_bias, RARE, dtype=torch.float32) if counted is None else counted

    def read(
        self,
        states: Tensor,
        padding: Tensor,
        source_words: Optional[Tensor] = None,
    ) -> PendingEstimate:
        assert source_words is not None
        # Positions are counted, and the LSTM starts at the first one; fairseq pads sources on the left.
        states, padding, source_words = padding_to_the_right(states, padding, source_words)
        unvoiced = padding | source_words.lt(0)
        words = source_words.masked_fill(unvoiced, 0)
        log_rates = self.log_rates()
        first, seen = features(words, unvoiced, padding, log_rates[words])
        seen = seen.type_as(states)
        states = self.dropout(states)
        own, _, _ = run_bidirectional(self.lstm, torch.cat((states, seen), dim=-1), (~padding).sum(dim=0), padding)
        read = torch.cat((own, states), dim=-1)
        judged = torch.tanh(self.judge(torch.cat((self.dropout(read), seen), dim=-1)))
        votes = self.votes(judged)
        more, occurs = votes.masked_fill(unvoiced.unsqueeze(-1), 0.0).unbind(dim=-1)
        occurs = occurs + first.type_as(occurs) * self.source_bias[words]
        context = self.context(self.dropout(max_and_min_over_time(read, padding)))
        bias = self.occurrence_bias + (log_rates - torch.log1p(-log_rates.exp())).type_as(self.occurrence_bias)
        nothing = states.new_zeros(states.size(1), 0)
        return PendingEstimate(
            WordLogits(nothing, states.new_zeros(len(bias), 0), self.frequency_bias, more.t(), words.t()),
            WordLogits(context, self.output.weight, bias, occurs.t(), words.t()),
            HurdleEstimate,
        )


# Numbers of a position that `features` computes.
FEATURES = 7


def features(words: Tensor, unvoiced: Tensor, padding: Tensor, log_rates: Tensor) -> tuple[Tensor, Tensor]:
    """What can be seen of a position without the encoder.

    Args:
        words: (time, sentences), the source in the target vocabulary
        unvoiced: (time, sentences), True at padding and where that vocabulary lacks the word
        padding: (time, sentences), True at padded positions
        log_rates: (time, sentences), log p̄ of the words

    Returns:
        whether a word is at its first position in the sentence, (time, sentences); and
        (time, sentences, FEATURES): where the position is, relative and absolute, the length of the
        sentence, how often it has the word, whether this is the first time, how frequent the word is
        in summaries, and whether it can be in one; all about between -1 and 1
    """
    time = words.size(0)
    voiced = ~unvoiced
    same = words.unsqueeze(0).eq(words.unsqueeze(1)) & voiced.unsqueeze(0) & voiced.unsqueeze(1)
    earlier = torch.ones(time, time, dtype=torch.bool, device=words.device).tril(-1).unsqueeze(-1)
    first = voiced & ~(same & earlier).any(dim=1)
    length = (~padding).sum(dim=0).float().expand_as(words)
    position = torch.arange(time, device=words.device).float().unsqueeze(1).expand_as(words)
    seen = torch.stack(
        (
            position / length,
            torch.log1p(position) / 3,
            torch.log(length) / 3 - 1,
            torch.log1p(same.sum(dim=1).float()),
            first.float(),
            (log_rates.float() / 4 + 1.5).masked_fill(unvoiced, 0.0),
            voiced.float(),
        ),
        dim=-1,
    )
    return first, seen.masked_fill(padding.unsqueeze(-1), 0.0)

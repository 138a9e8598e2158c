"""The hypotheses of a batch while they are extended, and the outputs that they become."""

from typing import NamedTuple, Optional

import torch
from torch import Tensor


class Extensions(NamedTuple):
    """What a search strategy chose: (sentences, candidates) each, the best first."""

    scores: Tensor  # cumulative
    words: Tensor
    rows: Tensor  # the hypothesis that each extends

    def select(self, sentences: Tensor) -> "Extensions":
        return Extensions(*(tensor[sentences] for tensor in self))


class Hypotheses:
    """A beam per sentence; the hypotheses of one sentence are in consecutive rows.

    Args:
        sentences: their number
        beam_size: hypotheses per sentence
        start: the start symbol
    """

    def __init__(self, sentences: int, beam_size: int, start: int, device: torch.device):
        rows = sentences * beam_size
        self.beam_size = beam_size
        self.tokens = torch.full((rows, 1), start, device=device)  # (rows, words so far and the start symbol)
        self.scores = torch.zeros(rows, 0, device=device)  # (rows, words so far), cumulative
        self.sentence = torch.arange(sentences, device=device)  # places in the batch of those that are left
        # (sentences left, beam): finished, but still in the beam since nothing better was found
        self.set_aside = torch.zeros(sentences, beam_size, dtype=torch.bool, device=device)
        self.attention: list[Tensor] = []  # of each step, (rows of that step, time)
        self.parents: list[Tensor] = []  # of each step but the first, (rows), rows of the step before
        self.outputs: list[list[dict]] = [[] for _ in range(sentences)]

    @property
    def step(self) -> int:
        return self.tokens.size(1) - 1

    def of_sentences(self, rows: Tensor) -> Tensor:
        """(rows, ...) -> (sentences left, beam, ...)"""
        return rows.unflatten(0, (len(self.sentence), self.beam_size))

    def note_attention(self, attention: Optional[Tensor]) -> None:
        """Keep what the decoder looked at, (rows, time), for the outputs."""
        if attention is not None:
            self.attention.append(attention)

    def finish(self, chosen: Extensions, ends: Tensor, eos: int, length_penalty: Optional[float]) -> None:
        """Make outputs of extensions by EOS.

        Args:
            ends: (sentences left, beam), True at those of the best candidates that are to become outputs
            length_penalty: by whose power of the length scores are divided; None: they are not
        """
        sentences, columns = ends.nonzero(as_tuple=True)
        if len(sentences) == 0:
            return
        rows, totals = chosen.rows[sentences, columns], chosen.scores[sentences, columns]
        length = self.step + 1
        tokens = torch.nn.functional.pad(self.tokens[rows, 1:], (0, 1), value=eos)
        cumulative = torch.cat((self.scores[rows], totals.unsqueeze(1).type_as(self.scores)), dim=1)
        positional = torch.diff(cumulative, dim=1, prepend=torch.zeros_like(cumulative[:, :1]))
        if length_penalty is not None:
            totals = totals / length**length_penalty
        attention = self.attention_of(rows)
        for i, sentence in enumerate(self.sentence[sentences].tolist()):
            if len(self.outputs[sentence]) < self.beam_size:
                self.outputs[sentence].append(
                    {
                        "tokens": tokens[i],
                        "score": totals[i],
                        "attention": torch.empty(0) if attention is None else attention[i],  # (time, length)
                        "alignment": torch.empty(0),
                        "positional_scores": positional[i],
                    }
                )

    def attention_of(self, rows: Tensor) -> Optional[Tensor]:
        """(rows, time, steps so far), or None if the decoder shows none."""
        if not self.attention:
            return None
        steps = []
        for step in range(self.step, -1, -1):
            steps.append(self.attention[step][rows])
            if step > 0:
                rows = self.parents[step - 1][rows]
        return torch.stack(steps[::-1], dim=2)

    def has_enough(self) -> list[bool]:
        """Of each sentence that is left: whether it has as many outputs as the beam is wide."""
        return [len(self.outputs[sentence]) == self.beam_size for sentence in self.sentence.tolist()]

    def extend(self, chosen: Extensions, ended: Tensor, keep: Optional[Tensor]) -> tuple[Tensor, Tensor]:
        """Go on with the best extensions that have not ended.

        Args:
            ended: (sentences left, candidates), True at extensions by EOS
            keep: places of the sentences that are left then; None: all

        Returns:
            the candidates gone on with, (sentences, beam); the rows that they extend, (rows)
        """
        aside = self.set_aside
        if keep is not None:
            chosen, ended, aside = chosen.select(keep), ended[keep], aside[keep]
            self.sentence = self.sentence[keep]
        number = ended.size(1)
        last = 2 * self.beam_size
        ended[:, : self.beam_size] |= aside
        # The first that have not ended, in order; then, if there are too few, the others.
        order = ended.long() * last + torch.arange(number, device=ended.device)
        order, active = torch.topk(order, k=self.beam_size, dim=1, largest=False)
        self.set_aside = order >= last
        parents = chosen.rows.gather(1, active).view(-1)
        words, scores = (tensor.gather(1, active).view(-1, 1) for tensor in (chosen.words, chosen.scores))
        self.tokens = torch.cat((self.tokens[parents], words), dim=1)
        self.scores = torch.cat((self.scores[parents], scores.type_as(self.scores)), dim=1)
        if self.attention:
            self.parents.append(parents)
        return active, parents

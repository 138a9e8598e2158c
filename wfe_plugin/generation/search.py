"""What the search needs so that a hard bound does not break it."""

import torch
from fairseq.search import DiverseBeamSearch, Sampling
from torch import Tensor, nn

from wfe_plugin.errors import UserError


class WatchedSearch:
    """A fairseq search strategy that remembers which sentences can go on.

    Under a hard bound a sentence may run out of hypotheses before it has as
    many finished ones as the beam is wide. fairseq would go on extending
    impossible ones to the maximum length, and then fail.

    `can_go_on` holds, after each step, a list of bool, one a sentence.

    Args:
        search: fairseq's strategy
        ensemble: whose `candidates` tell which word each column of scores is, if
            it shows the best words of each hypothesis only
    """

    def __init__(self, search, ensemble):
        self.search = search
        self.ensemble = ensemble
        # If every hypothesis that is left is impossible at the maximum length,
        # end with what is there.
        self.stop_on_max_len = True

    def __getattr__(self, name):
        if name == "search":  # not there yet, while an object is being copied
            raise AttributeError(name)
        return getattr(self.search, name)

    def step(self, step, lprobs, scores, prev_output_tokens, original_batch_idxs):
        if isinstance(self.search, DiverseBeamSearch):
            original_batch_idxs = self.positions_in_batch(step, original_batch_idxs)
        sentences, beam_size, vocabulary = lprobs.shape
        if self.search.supports_constraints and step == 0:
            if 2 * beam_size > vocabulary:
                raise UserError(
                    f"--constraints: --beam {beam_size} is too wide for a vocabulary of "
                    f"{vocabulary} words; at most {vocabulary // 2}"
                )
            lprobs = self.forbid_empty(lprobs)
        # A strategy that finds too few candidates to fill the beam leaves
        # finished hypotheses in it. fairseq ignores those by their place in the
        # beam, which is where they stay when sampling, but not otherwise.
        finished = prev_output_tokens[:, 1:].eq(self.search.eos).any(dim=1)
        finished = finished.view(sentences, beam_size)
        if isinstance(self.search, Sampling):
            # What is left under the bound is no distribution, but top-p takes
            # it for one, and very small numbers would underflow.
            lprobs = torch.log_softmax(lprobs, dim=-1)
        elif finished.any():
            lprobs = lprobs.masked_fill(finished.unsqueeze(-1), float("-inf"))
        scores, words, beams = self.search.step(step, lprobs, scores, prev_output_tokens, original_batch_idxs)
        if self.ensemble.candidates is not None:
            candidates = self.ensemble.candidates.view(sentences, -1)
            words = candidates.gather(1, beams * vocabulary + words)
        extensible = torch.isfinite(scores) & words.ne(self.search.eos)
        extensible &= ~finished.gather(1, beams)
        self.can_go_on = extensible.any(dim=1).tolist()
        return scores, words, beams

    def forbid_empty(self, lprobs: Tensor) -> Tensor:
        """No EOS in the first step of sentences with constraints.

        fairseq sees to it in later steps only, and relies on --min-len here.
        """
        lprobs = lprobs.clone()
        for sentence, states in enumerate(self.search.constraint_states):
            if not states[0].finished:
                lprobs[sentence, :, self.search.eos] = float("-inf")
        return lprobs

    def positions_in_batch(self, step: int, ids: Tensor) -> Tensor:
        """Where each sentence stood in the batch as it came.

        fairseq hands the data set's sentence numbers to the search, but
        DiverseBeamSearch takes them for positions in the batch.
        """
        if step == 0:
            self.ids = ids
        return ids.unsqueeze(1).eq(self.ids.unsqueeze(0)).long().argmax(dim=1)


class MinimumLength(nn.Module):
    """Forbids EOS before the minimum length, as long as there is another choice.

    Budgets may be spent before the minimum length is reached, and then a short
    output is better than none. It stands where fairseq calls its n-gram blocker:
    after all else that may forbid a word, and before the search.
    """

    def __init__(self, min_len: int, eos: int):
        super().__init__()
        self.min_len = min_len
        self.eos = eos

    def forward(self, tokens, lprobs: Tensor, bsz: int, beam_size: int, step: int):
        if step < self.min_len:
            eos_lprobs = lprobs[:, self.eos].clone()
            lprobs[:, self.eos] = float("-inf")
            nothing_left = lprobs.isneginf().all(dim=1)
            lprobs[:, self.eos] = eos_lprobs.masked_fill(~nothing_left, float("-inf"))
        return lprobs

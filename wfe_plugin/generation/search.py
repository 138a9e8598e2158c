"""A step of fairseq's search strategies, such that a hard bound does not break it."""

import torch
from fairseq.search import DiverseBeamSearch, Sampling, Search
from torch import Tensor

from wfe_plugin.errors import UserError
from wfe_plugin.generation.fast_search import Candidates
from wfe_plugin.generation.hypotheses import Extensions, Hypotheses


def choose(strategy: Search, hypotheses: Hypotheses, candidates: Candidates) -> tuple[Extensions, Tensor]:
    """The best extensions of the hypotheses, as the strategy sees it.

    Returns:
        extensions; (sentences,), True where one can go on. Under a hard bound a sentence may run out of
        hypotheses before it has as many outputs as the beam is wide.
    """
    step = hypotheses.step
    lprobs = hypotheses.of_sentences(candidates.scores)
    sentences, beam_size, columns = lprobs.shape
    if strategy.supports_constraints and step == 0:
        if 2 * beam_size > columns:
            raise UserError(
                f"constraints: --beam {beam_size} is too wide for a vocabulary of {columns} words; "
                f"at most {columns // 2}"
            )
        forbid_empty(strategy, lprobs)
    # A strategy that finds too few candidates to fill the beam leaves finished hypotheses in it.
    finished = hypotheses.of_sentences(hypotheses.tokens[:, 1:].eq(strategy.eos).any(dim=1))
    if isinstance(strategy, Sampling):
        # What is left under the bound is no distribution, but top-p takes
        # it for one, and very small numbers would underflow.
        lprobs = torch.log_softmax(lprobs, dim=-1)
    elif finished.any():
        lprobs = lprobs.masked_fill(finished.unsqueeze(-1), float("-inf"))
    scores, places, beams = strategy.step(
        step,
        lprobs,
        hypotheses.of_sentences(hypotheses.scores),
        hypotheses.tokens,
        # fairseq hands over numbers of the data set, but DiverseBeamSearch takes them for places in the batch.
        hypotheses.sentence if isinstance(strategy, DiverseBeamSearch) else None,
    )
    rows = beams + torch.arange(0, sentences * beam_size, beam_size, device=beams.device).unsqueeze(1)
    words = candidates.words_at(rows, places)
    extensible = torch.isfinite(scores) & words.ne(strategy.eos) & ~finished.gather(1, beams)
    return Extensions(scores, words, rows), extensible.any(dim=1)


def forbid_empty(strategy: Search, lprobs: Tensor) -> None:
    """No EOS in the first step of sentences with constraints, (sentences, beam, vocabulary), in place.

    fairseq sees to it in later steps only, and relies on --min-len here.
    """
    for sentence, states in enumerate(strategy.constraint_states):
        if not states[0].finished:
            lprobs[sentence, :, strategy.eos] = float("-inf")

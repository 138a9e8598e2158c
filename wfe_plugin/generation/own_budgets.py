"""The user's own budgets of a search: for all sentences, and of each."""

from collections.abc import Sequence
from typing import Optional

import torch
from fairseq import search
from fairseq.token_generation_constraints import pack_constraints
from torch import Tensor

from wfe_plugin.errors import UserError
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.method.word_budgets import WordBudgets, in_pieces, segmented


class OwnBudgets:
    """Budgets by the number of the sentence; False if there are none.

    Args:
        dictionary: of the target
        common: for all sentences
        by_number: of the sentence with each number; they win over the common ones
    """

    def __init__(self, dictionary, common: Optional[WordBudgets], by_number: Sequence[Optional[WordBudgets]] = ()):
        self.dictionary = dictionary
        self.pieces = {word: i for i, word in enumerate(dictionary.symbols[dictionary.nspecial :])}
        self.common = in_pieces(common or WordBudgets({}), self.pieces)
        self.by_number = [in_pieces(self.common.updated(own), self.pieces) for own in by_number]
        self.required = any(budgets.required for budgets in [self.common, *self.by_number])

    def __bool__(self) -> bool:
        return any(budgets.words for budgets in [self.common, *self.by_number])

    def of(self, numbers: Sequence[int]) -> list[WordBudgets]:
        return [self.by_number[number] if self.by_number else self.common for number in numbers]

    def constraints(self, numbers: Sequence[int]) -> Tensor:
        """The required words of sentences, as fairseq packs its lexical constraints."""
        return pack_constraints(
            [
                [
                    torch.tensor([self.dictionary.index(piece) for piece in segmented(word, self.pieces) or ()])
                    for word in budgets.required
                ]
                for budgets in self.of(numbers)
            ]
        )


def constrained_search(strategy: search.Search, dictionary, options: DecodingConfig) -> search.Search:
    """The search for outputs with required words."""
    if type(strategy) is not search.BeamSearch:
        raise UserError("--budget WORD=+ needs plain beam search: leave out sampling, --constraints and other searches")
    if options.wfe_shortlist > 0:
        raise UserError("--budget WORD=+ may ask for words that are not in --wfe-shortlist: leave one out")
    return search.LexicallyConstrainedBeamSearch(dictionary, "unordered")

"""The user's own budgets: words that may not be said, or not again."""

import torch
from torch import Tensor

from wfe_plugin.generation.rules.rule import Rule, StepContext
from wfe_plugin.method.word_budgets import spent_words


class WithinOwnBudgets(Rule):
    """Forbids what would complete a whole word beyond its budget, but never a forced word.

    It does not matter what pieces the word is made of.

    Args:
        dictionary: of the target
    """

    def __init__(self, dictionary):
        self.dictionary = dictionary

    def __call__(self, lprobs: Tensor, step: StepContext) -> None:
        budgets = step.sentences.budgets
        if budgets is None or not any(budgets):
            return
        found = []  # (row, word)
        beam = len(step.generated) // step.sentences.number
        for row, tokens in enumerate(step.sentences.in_dictionary(step.generated).tolist()):
            if budgets[row // beam]:
                found += [(row, word) for word in self.forbidden(tokens, budgets[row // beam])]
        rows, places = torch.tensor(found, dtype=torch.long, device=lprobs.device).reshape(-1, 2).unbind(1)
        vocabulary = step.sentences.vocabulary
        if vocabulary is not None:
            known = torch.isin(places, vocabulary)
            rows, places = rows[known], torch.searchsorted(vocabulary, places[known])
        place, prefix = step.generated.size(1), step.sentences.prefix
        if prefix is not None and place < prefix.size(1):
            free = places.ne(step.of_rows(prefix[:, place])[rows])
            rows, places = rows[free], places[free]
        lprobs[rows, places] = float("-inf")

    def forbidden(self, tokens: list[int], budgets) -> list[int]:
        """The words of the dictionary that may not come next."""
        pieces = spent_words([self.dictionary[token] for token in tokens], budgets)
        return [
            self.dictionary.index(piece) if piece else self.dictionary.eos()
            for piece in pieces
            if not piece or piece in self.dictionary
        ]

"""What happens to the scores of a step: one rule per module, applied in the order of `rules_of_step`."""

import torch
from torch import Tensor

from wfe_plugin.errors import UserError
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.generation.rules.frequency_bound import WithinFrequencies
from wfe_plugin.generation.rules.ngram_blocking import NgramBlocking
from wfe_plugin.generation.rules.out_of_source import OutOfSourcePenalty
from wfe_plugin.generation.rules.own_budgets import WithinOwnBudgets
from wfe_plugin.generation.rules.rule import Rule
from wfe_plugin.generation.rules.word_cap import WordCap
from wfe_plugin.generation.rules.word_penalties import WordPenalties
from wfe_plugin.generation.rules.word_reward import WordReward


def rules_of_step(
    options: DecodingConfig, dictionary, no_repeat_ngram_size: int = 0, own_budgets: bool = False
) -> list[Rule]:
    """The rules that options ask for, in order; the minimum length comes later, after forced prefixes.

    Args:
        options: resolved
        dictionary: of the target
        no_repeat_ngram_size: 0: n-grams may repeat
        own_budgets: whether the user has given budgets
    """
    bos, pad, eos, unk = dictionary.bos(), dictionary.pad(), dictionary.eos(), dictionary.unk()
    named = words_of_option("--exempt-words", options.exempt_words, dictionary)
    exempt = torch.cat((named, torch.tensor([eos])))
    penalties = options.repetition_penalty, options.frequency_penalty, options.presence_penalty
    rules: list[Rule] = []
    if penalties != (1.0, 0.0, 0.0):
        rules.append(WordPenalties(*penalties, exempt))
    if options.wfe_decoding != "off":
        rules.append(WithinFrequencies())
    if options.calibration.word_reward != 0:
        rules.append(WordReward(options.calibration.word_reward, eos))
    if options.out_of_source_penalty > 0:
        rules.append(
            OutOfSourcePenalty(options.out_of_source_penalty, torch.cat((exempt, torch.tensor([bos, pad, unk]))))
        )
    if options.word_cap > 0:
        rules.append(WordCap(options.word_cap, exempt))
    if no_repeat_ngram_size > 0:
        ignored = words_of_option("--ignore-when-blocking", options.ignore_when_blocking, dictionary)
        rules.append(NgramBlocking(no_repeat_ngram_size, ignored, pad, eos))
    if own_budgets:
        rules.append(WithinOwnBudgets(dictionary))
    return rules


def words_of_option(option: str, text: str, dictionary) -> Tensor:
    """The indices of the words that an option names, (number,)."""
    words = text.split()
    unknown = [word for word in words if word not in dictionary]
    if unknown:
        raise UserError(
            f"{option}: not in the target dictionary: {' '.join(unknown)}; "
            "write words as the dictionary does (for example in lower case, or BPE pieces with @@)"
        )
    return torch.tensor([dictionary.index(word) for word in words], dtype=torch.long)

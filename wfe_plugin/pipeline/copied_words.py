"""The words that a summary has copied without knowing them."""

from collections.abc import Sequence

from torch import Tensor


def name_unknown_words(
    said: Sequence[str], unknown: str, read: Sequence[str], is_foreign: Sequence[bool], attention: Tensor
) -> list[str]:
    """Put words of the source in the place of unknown ones: those that the model has attended to.

    Two unknown words are two different words, as long as the source has so many.

    Args:
        said: the summary
        unknown: what stands in it for any word that the vocabulary lacks
        read: the source
        is_foreign: whether the vocabulary lacks the word at each position of the source
        attention: (length of the source or more, length of the summary or more)
    """
    places: dict[str, list[int]] = {}
    for place, word in enumerate(read):
        if is_foreign[place]:
            places.setdefault(word, []).append(place)
    named = list(said)
    for step, word in enumerate(said):
        if word == unknown and places:
            left = [other for other in places if other not in named] or list(places)
            named[step] = max(left, key=lambda other: attention[places[other], step].sum().item())
    return named

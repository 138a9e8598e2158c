"""Words to numbers, in one pass: the files that fairseq-preprocess writes, to the last byte."""

import struct
from collections import Counter
from itertools import islice, repeat
from pathlib import Path

import numpy as np
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import MMapIndexedDataset, best_fitting_int_dtype

LINES = 10_000  # that are numbered at a time


def dictionary_of(counts: Counter, threshold: int, size: int) -> Dictionary:
    """The dictionary of the words that were counted.

    Args:
        threshold: words with fewer occurrences are unknown
        size: how many words to keep, special symbols included; -1: all
    """
    dictionary = Dictionary()
    for word, count in counts.items():
        dictionary.add_symbol(word, count)
    dictionary.finalize(threshold=threshold, nwords=size)
    return dictionary


def binarize(text: Path, dictionary: Dictionary, prefix: str) -> str:
    """Write *prefix*.bin and *prefix*.idx; returns what people want to know of the text.

    Args:
        text: sentences, one per line, words separated by single blanks
    """
    kind = best_fitting_int_dtype(len(dictionary))
    sizes, unknown, total = [], 0, 0
    with open(text, encoding="utf-8", newline="\n") as file, open(prefix + ".bin", "wb") as output:
        while lines := list(islice(file, LINES)):
            words = "".join(lines).replace("\n", f" {dictionary.eos_word} ").split()
            numbers = np.fromiter(map(dictionary.indices.get, words, repeat(dictionary.unk())), kind, len(words))
            output.write(numbers.tobytes())
            ends = np.flatnonzero(numbers == dictionary.eos())
            sizes.append(np.diff(ends, prepend=-1).astype(np.int32))
            unknown += np.count_nonzero(numbers == dictionary.unk()) - words.count(dictionary.unk_word)
            total += len(words)
    write_index(prefix + ".idx", np.concatenate(sizes), kind)
    share = 100 * unknown / total
    return f"{sum(map(len, sizes))} sents, {total} tokens, {share:.3}% replaced (by {dictionary.unk_word})"


def write_index(path: str, sizes: np.ndarray, kind: type) -> None:
    """As fairseq's own writer, which makes a Python number for each sentence."""
    pointers = np.zeros(len(sizes), dtype=np.int64)
    np.cumsum(sizes[:-1], dtype=np.int64, out=pointers[1:])
    with MMapIndexedDataset.Index.writer(path, kind) as index:
        index._file.write(struct.pack("<Q", len(sizes)))
        index._file.write(sizes.tobytes())
        index._file.write((pointers * np.dtype(kind).itemsize).tobytes())

"""The treatment that a prepared data directory was made with: apply it to new text, undo it on output."""

import json
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Optional

from sacremoses import MosesDetokenizer, MosesTokenizer
from subword_nmt.apply_bpe import BPE

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation.text_files import read_lines

SIDES = ("source", "target")
SETTINGS_FILE = "treatment.json"
UNKNOWN = "<unk>"
SEPARATOR = "@@"
REMEMBERED = 1_000_000  # words whose pieces are kept, so that memory does not grow with the text

# fairseq would read these words as its own begin, end and padding marks.
_RESERVED = re.compile(r"(?<!\S)<(s|/s|pad)>(?!\S)")

# Words that Moses would cut where its detokeniser cannot glue them again.
_PROTECTED = [
    re.escape(UNKNOWN),
    r"(?<!\w)\w+://\S*[\w/]",  # addresses
    r"(?<![\w.-])\w[\w.-]*(?:[/_@&+:=~][\w.-]*\w)+",  # and/or, 1/2, 8:30, S&P, snake_case, a@b.org
    r"(?<!\w)\w+\+{1,2}(?!\w)",  # C++, GTK+
    r"(?<!\w)(?:[CF]#|#\d+)(?!\w)",  # C#, #11
    r"(?<!\S)/\w[\w./-]*\w",  # /usr/share
    r"(?<!\w)\w+\(\w?\)",  # main(), printf(3)
]
_STRAIGHT_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


class _Tokenizer(MosesTokenizer):
    """Same results, two to three times the speed on news: sacremoses builds these sets anew for each full stop."""

    _lower, _alpha = frozenset(MosesTokenizer.IsLower), frozenset(MosesTokenizer.IsAlpha)

    def islower(self, text):
        return self._lower.issuperset(text)

    def isanyalpha(self, text):
        return not self._alpha.isdisjoint(text)


@dataclass(frozen=True)
class Settings:
    """What is done to each line, in this order."""

    tokenize: bool = False  # Moses tokenisation, by sacremoses
    unk: bool = False  # the word UNK becomes <unk>, as in the Gigaword test set
    lowercase: bool = False
    digits: bool = False  # each digit becomes "#"
    bpe: str = "none"  # joint, separate or none
    merges: int = 0  # number of BPE merges; 0 without BPE
    lang: str = "en"  # of Moses

    @classmethod
    def of(cls, stored: dict) -> "Settings":
        """From a record; those of older versions name no language."""
        stored = {"lang": "en", **stored}
        return cls(**{field.name: stored[field.name] for field in fields(cls)})


def codes_file(directory: Path, settings: Settings, side: str) -> Path:
    """Where the BPE codes of a side are kept: both sides share one file if learnt jointly."""
    return Path(directory, "bpe.codes" if settings.bpe == "joint" else f"bpe.{side}.codes")


def pieces_file(directory: Path, side: str) -> Path:
    """Where the BPE pieces that occur in the training text of a side are kept."""
    return Path(directory, f"bpe.{side}.pieces")


class Pieces(dict):
    """The BPE pieces of each word, joined by blanks: a word is cut once, and looked up afterwards.

    Args:
        bpe: what cuts
    """

    def __init__(self, bpe: BPE):
        super().__init__()
        self.bpe = bpe

    def __missing__(self, word: str) -> str:
        if len(self) >= REMEMBERED:
            self.clear()
        found = self[word] = self.bpe.segment(word)
        self.bpe.cache.clear()  # which would remember the same
        return found

    def segment(self, line: str) -> str:
        return " ".join(map(self.__getitem__, line.split()))


def model_files(directory: Path, settings: Settings) -> list[Path]:
    """What a model depends on: dictionaries and, with BPE, codes and pieces."""
    files = [directory / f"dict.{side}.txt" for side in SIDES]
    if settings.bpe != "none":
        files += [codes_file(directory, settings, side) for side in SIDES]
        files += [pieces_file(directory, side) for side in SIDES]
    return list(dict.fromkeys(files))


class Treatment:
    """Applies settings to lines that `clean_lines` made, and undoes them on model output."""

    def __init__(self, settings: Settings, segmenters: Optional[dict[str, Pieces]] = None):
        self.settings = settings
        self.segmenters = segmenters or {}
        self._tokenizer = _Tokenizer(lang=settings.lang)
        self._detokenizer = MosesDetokenizer(lang=settings.lang)

    @classmethod
    def load(cls, directory) -> "Treatment":
        """Read back what wfe-preprocess left in `directory`."""
        settings = read_settings(directory)
        try:
            return cls(settings, load_segmenters(Path(directory), settings))
        except OSError as error:
            raise UserError(f"{error.filename}: {error.strerror}: run wfe-preprocess again") from None

    def normalize(self, line: str) -> str:
        """Everything but BPE."""
        settings = self.settings
        if settings.tokenize:
            line = self._tokenize(line)
        if settings.unk:
            line = " ".join(UNKNOWN if word == "UNK" else word for word in line.split())
        if settings.lowercase:
            line = line.lower()
        if settings.digits:
            line = re.sub("[0-9]", "#", line)
        if settings.bpe != "none":
            # A "@@" of the text itself would later pass for a joint between BPE pieces.
            line = re.sub("@(?=@)", "@ ", line)
        # Tokenising may leave, and lower-casing may make, characters that are blanks to fairseq.
        return " ".join(_RESERVED.sub(r"< \1 >", line).split())

    def _tokenize(self, line: str) -> str:
        # sacremoses neither cuts nor glues typographic quotation marks and apostrophes rightly.
        line = line.translate(_STRAIGHT_QUOTES)
        # It protects at most a thousand words in a line; a line with more goes without.
        count = sum(len(re.findall(pattern, line, re.IGNORECASE)) for pattern in _PROTECTED)
        protect = _PROTECTED if 0 < count <= 1000 else None
        return self._tokenizer.tokenize(line, return_str=True, escape=False, protected_patterns=protect)

    def segment(self, line: str, side: str) -> str:
        """BPE alone."""
        return self.segmenters[side].segment(line) if self.segmenters else line

    def apply(self, line: str, side: str) -> str:
        """Raw line to what the model reads (source) or writes (target)."""
        return self.segment(self.normalize(line), side)

    @property
    def has_whole_words(self) -> bool:
        """Whether what the model reads are words, and not pieces of them."""
        return self.settings.bpe == "none"

    def sources(self, directory: Path, split: str) -> list[str]:
        """The sources of a set as the model reads them; none if these are pieces of words."""
        path = Path(directory, "text", f"{split}.{SIDES[0]}")
        if not self.has_whole_words or not path.exists():
            return []
        return [self.apply(line, SIDES[0]) for line in read_lines(path)]

    def undo(self, line: str) -> str:
        """Model output to readable text. Case and digits cannot come back."""
        if self.settings.bpe != "none":
            line = re.sub(SEPARATOR + r"( |$)", "", line)
        if self.settings.tokenize:
            line = self._detokenizer.detokenize(line.split(), unescape=False)
        return line

    def plain(self, line: str) -> str:
        """Raw line to how a perfect model's output would look after `undo`: for references."""
        return self.undo(self.normalize(line))


def read_settings(directory) -> Settings:
    """Of a directory that wfe-preprocess made."""
    path = Path(directory, SETTINGS_FILE)
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        stored["text"], stored["report"], [stored["settings"][f"{side}_max_length"] for side in SIDES]
        return Settings.of(stored["settings"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{directory}: not a data directory made by wfe-preprocess ({path.name}: {reason})") from None


def load_segmenters(directory: Path, settings: Settings, pieces: bool = True) -> dict[str, Pieces]:
    """What cuts words, for each side.

    With `pieces`, words of new text are split until all pieces are ones that the training text
    of that side has; other pieces would be unknown to the model.
    """
    if settings.bpe == "none":
        return {}
    segmenters = {}
    for side in SIDES:
        known = set(pieces_file(directory, side).read_text(encoding="utf-8").split()) if pieces else None
        with open(codes_file(directory, settings, side), encoding="utf-8") as codes:
            segmenters[side] = Pieces(BPE(codes, separator=SEPARATOR, vocab=known, glossaries=[UNKNOWN]))
    return segmenters

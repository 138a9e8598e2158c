"""The options of wfe-preprocess, and which of them go together."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Optional

from sacremoses.corpus import NonbreakingPrefixes

from wfe_plugin.errors import UserError, option_of
from wfe_plugin.pipeline.inputs import is_jsonl
from wfe_plugin.pipeline.text import sha256
from wfe_plugin.pipeline.treat import SIDES, Settings, Treatment, model_files

MERGES = 8000
VOCABULARY = tuple(f"{side}_{name}" for side in SIDES for name in ("threshold", "vocab_size"))
# What --like takes from other data.
FIXED = ("tokenize", "lang", "lowercase", "digits", "gigaword", "bpe", "merges", *VOCABULARY)


class Pairs(NamedTuple):
    """One set of text pairs: its fairseq name and its two files, or one of JSON lines and two fields."""

    name: str
    source: str
    target: str
    fields: Optional[tuple[str, str]] = None


@dataclass(frozen=True)
class PreprocessOptions:
    """The options of wfe-preprocess by name. Sets are prefixes of files, files of JSON lines, or pairs of file names."""

    out: str
    train: Optional[str] = None
    train_files: Sequence[Sequence[str]] = ()
    valid: Optional[str] = None
    valid_files: Sequence[Sequence[str]] = ()
    test: Sequence[str] = ()
    test_files: Sequence[Sequence[str]] = ()
    source_suffix: str = "article"
    target_suffix: str = "title"
    source_field: str = "article"
    target_field: str = "title"
    like: Optional[str] = None
    tokenize: bool = False
    lang: str = "en"
    lowercase: bool = False
    digits: bool = False
    gigaword: bool = False
    bpe: str = "none"
    merges: Optional[int] = None
    source_threshold: int = 1
    target_threshold: int = 1
    source_vocab_size: Optional[int] = None
    target_vocab_size: Optional[int] = None
    max_source_length: int = 1024
    max_target_length: int = 1024
    workers: int = 1
    overwrite: bool = False
    fairseq_options: Sequence[str] = ()

    def validate(self) -> None:
        """Raise UserError where options do not go together."""
        for name in ("train", "valid"):
            given = bool(getattr(self, name)) + len(getattr(self, f"{name}_files"))
            if given > 1 or (given == 0 and not self.like):
                raise UserError(f"give either --{name} or --{name}-files, once")
        if self.merges and self.bpe == "none":
            raise UserError("--merges needs --bpe joint or --bpe separate")
        if self.lang not in NonbreakingPrefixes().available_langs.values():
            raise UserError(f"--lang {self.lang}: Moses does not know this language; leave out --tokenize")
        if self.like:
            if not self.sets():
                raise UserError("--like: name the sets to prepare, for example with --test")
            for name in FIXED:
                if getattr(self, name) != getattr(type(self), name):
                    raise UserError(
                        f"{option_of(name)}: with --like, the treatment of {self.like} applies; leave it out"
                    )

    @cached_property
    def settings(self) -> Settings:
        """The treatment of the text."""
        if self.like:
            return Treatment.load(self.like).settings
        return Settings(
            tokenize=self.tokenize,
            unk=self.gigaword,
            lowercase=self.lowercase or self.gigaword,
            digits=self.digits or self.gigaword,
            bpe=self.bpe,
            merges=0 if self.bpe == "none" else self.merges or MERGES,
            lang=self.lang,
        )

    def sets(self) -> list[Pairs]:
        """All sets of pairs, under the names that fairseq gives them."""
        sets = []
        for name, prefixes in (("train", [self.train]), ("valid", [self.valid]), ("test", self.test)):
            suffixes = self.source_suffix, self.target_suffix
            files = [
                (prefix, prefix) if is_jsonl(prefix) else tuple(f"{prefix}.{suffix}" for suffix in suffixes)
                for prefix in prefixes
                if prefix
            ]
            for number, pair in enumerate([*files, *getattr(self, f"{name}_files")]):
                in_json = pair[0] == pair[1] and is_jsonl(pair[0])
                fields = (self.source_field, self.target_field) if in_json else None
                sets.append(Pairs(f"{name}{number or ''}", *map(compressed, pair), fields))
        return sets

    def description(self) -> dict:
        """All that determines the result; equal descriptions mean that there is nothing to do."""
        settings = asdict(self.settings)
        if self.settings.lang == "en":
            del settings["lang"]  # data of older versions do not name it
        if self.like:
            settings["like"] = {path.name: sha256(str(path)) for path in model_files(Path(self.like), self.settings)}
        return {
            "settings": {
                **settings,
                **{name: getattr(self, name) for name in VOCABULARY},
                **{f"{side}_max_length": getattr(self, f"max_{side}_length") for side in SIDES},
                "fairseq_options": list(self.fairseq_options),
            },
            "text": {
                f"{pairs.name}.{side}": sha256(path)
                for pairs in self.sets()
                for side, path in zip(SIDES, (pairs.source, pairs.target))
            },
        }


def compressed(path: str) -> str:
    """The file, or the one with .gz behind its name."""
    return f"{path}.gz" if not Path(path).exists() and Path(f"{path}.gz").exists() else path

"""What a preparation of text is told: the options of wfe-preprocess."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple, Optional

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.text import sha256
from wfe_plugin.pipeline.treat import SIDES, Settings

MERGES = 8000


class Pairs(NamedTuple):
    """One set of text pairs: its fairseq name and its two files."""

    name: str
    source: str
    target: str


@dataclass(frozen=True)
class PreprocessOptions:
    """The options of wfe-preprocess by name. Sets are prefixes of files, or pairs of file names."""

    out: str
    train: Optional[str] = None
    train_files: Sequence[Sequence[str]] = ()
    valid: Optional[str] = None
    valid_files: Sequence[Sequence[str]] = ()
    test: Sequence[str] = ()
    test_files: Sequence[Sequence[str]] = ()
    source_suffix: str = "article"
    target_suffix: str = "title"
    tokenize: bool = False
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
            if bool(getattr(self, name)) + len(getattr(self, f"{name}_files")) != 1:
                raise UserError(f"give either --{name} or --{name}-files, once")
        if self.merges and self.bpe == "none":
            raise UserError("--merges needs --bpe joint or --bpe separate")

    @property
    def settings(self) -> Settings:
        """The treatment of the text."""
        return Settings(
            tokenize=self.tokenize,
            unk=self.gigaword,
            lowercase=self.lowercase or self.gigaword,
            digits=self.digits or self.gigaword,
            bpe=self.bpe,
            merges=0 if self.bpe == "none" else self.merges or MERGES,
        )

    def sets(self) -> list[Pairs]:
        """All sets of pairs, under the names that fairseq gives them."""
        sets = []
        for name, prefixes in (("train", [self.train]), ("valid", [self.valid]), ("test", self.test)):
            suffixes = self.source_suffix, self.target_suffix
            files = [tuple(f"{prefix}.{suffix}" for suffix in suffixes) for prefix in prefixes if prefix]
            for number, (source, target) in enumerate([*files, *getattr(self, f"{name}_files")]):
                sets.append(Pairs(f"{name}{number or ''}", source, target))
        return sets

    def description(self) -> dict:
        """All that determines the result; equal descriptions mean that there is nothing to do."""
        return {
            "settings": {
                **asdict(self.settings),
                **{
                    f"{side}_{key}": getattr(self, name.format(side))
                    for side in SIDES
                    for key, name in (
                        ("threshold", "{}_threshold"),
                        ("vocab_size", "{}_vocab_size"),
                        ("max_length", "max_{}_length"),
                    )
                },
                "fairseq_options": list(self.fairseq_options),
            },
            "text": {
                f"{pairs.name}.{side}": sha256(path)
                for pairs in self.sets()
                for side, path in zip(SIDES, (pairs.source, pairs.target))
            },
        }

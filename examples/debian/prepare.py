#!/usr/bin/env python3
"""Debian (or Ubuntu) package descriptions to pairs of description and synopsis, split in three.

The package lists are fetched by apt-get into a directory of their own: no root needed, the
system's lists stay as they are. Or they are read from a directory such as /var/lib/apt/lists,
if it has the Translation-en files. Only the standard library is needed.
"""

import argparse
import bz2
import collections
import gzip
import hashlib
import io
import lzma
import os
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Optional, TextIO

HELD_OUT = {"valid": 0.04, "test": 0.04}  # share of the source packages
MAX_PER_SOURCE = 3  # pairs from one source package, lest the giants rule
BOILERPLATE = 3  # a paragraph in this many source packages says nothing about any of them
WORDS = (12, 80)  # least and most words of a description

APT_HELPER = "/usr/lib/apt/apt-helper"
OPENERS = {"": open, ".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}

# Sections and name endings of packages that accompany a main one.
SIDE_SECTIONS = {"debug", "doc", "introspection", "libdevel", "localization", "metapackages", "oldlibs", "tasks"}
SIDE_NAME = re.compile(
    r"-(?:dev|doc|docs|data|dbg|dbgsym|common|examples|l10n|i18n|locales?|prof|tests?|bin|utils|tools)\b"
)
# Nothing in the text of these tells what they are about.
USELESS = re.compile(
    r"transitional|dummy|virtual package|meta-?package|dependency package|debug(?:ging)? symbols|debcargo", re.I
)
VARIANT = (
    r"(?:(?:development|header|data|example|common|shared|static|runtime|architecture.independent|support|core|main|"
    r"base|api|html|the|c|c\+\+|qt[456]?|gtk[234+]?|source|library|python ?[23]?(?:\.x)?|ghc|rust|go|golang|java|perl|"
    r"ruby|php|node\.?js|common lisp|lisp|ocaml)[ -])*"
    r"(?:development|devel|headers?|files?|data|docs?|documentation|manual|examples?|library|libraries|lib|libs|runtime|"
    r"package|packages|code|module|modules|version|binaries|binary|tools|utilities|programs?|plugin|"
    r"python ?[23]?(?:\.x)?|"
    r"daemon|common|server|client|interface|bindings|extension|gui|cli|tests?|debug|symbols|translations|source)"
)
QUALIFIER = re.compile(rf"\s*(?:\({VARIANT}\)|(?:\s-+|:|;|,)\s+{VARIANT}|\[[^\]]*\])$", re.I)
PACKAGE_NOTE = re.compile(
    r"^(?:this|the) (?:\w+ )?(?:package|metapackage|module is part|is (?:a|the) [\w -]*(?:package|version))\b.{0,60}?"
    r"(?:\b(?:development|header|shared|static|runtime|documentation|examples?|binar|debcargo|crate|python ?[23]|"
    r"version of the|librar(?:y|ies)\.$)|\bpart of\b)",
    re.I,
)


class Package(NamedTuple):
    """One binary package."""

    name: str
    source: str
    section: str
    synopsis: str
    paragraphs: list[str]


class Pair(NamedTuple):
    """What is learnt from one package."""

    source: str
    description: str
    synopsis: str


def download(directory: Path) -> Path:
    """Let apt-get fetch the lists, with English descriptions, into `directory`, once."""
    lists = directory / "lists"
    if not lists.is_dir():
        if not shutil.which("apt-get"):
            sys.exit("prepare: apt-get not found; name a directory with package lists with --lists")
        scratch = directory / "lists.unfinished"
        (scratch / "partial").mkdir(parents=True, exist_ok=True)
        (directory / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
        settings = {
            "Acquire::Languages": "en",
            "Acquire::GzipIndexes": "false",
            "APT::Update::Error-Mode": "any",  # or a failed download would pass for success
            "Dir::State::Lists": scratch.resolve(),
            "Dir::Cache": (directory / "cache").resolve(),
            "Debug::NoLocking": "true",  # the directory is ours; root may be at work elsewhere
        }
        if os.geteuid() == 0:
            settings["APT::Sandbox::User"] = "root"  # apt's own user may not enter the directory
        options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
        subprocess.run(["apt-get", "--quiet", "update", *options], check=True)
        shutil.rmtree(directory / "cache")
        scratch.rename(lists)
    return lists


def open_list(path: Path) -> TextIO:
    """A package list as text, whatever apt has compressed it with."""
    # The names are full of dots: only what follows "Packages" or "Translation-en" counts.
    suffix = Path(path.name.rpartition("_")[2]).suffix
    if suffix in OPENERS:
        return OPENERS[suffix](path, "rt", encoding="utf-8", errors="replace")
    if not os.path.exists(APT_HELPER):
        sys.exit(f"prepare: {path}: cannot read {suffix} files without {APT_HELPER}")
    content = subprocess.run([APT_HELPER, "cat-file", str(path)], check=True, stdout=subprocess.PIPE).stdout
    return io.StringIO(content.decode("utf-8", errors="replace"))


def stanzas(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """The paragraphs of a control file as dictionaries; continuation lines keep their blanks."""
    fields, key = {}, None
    for line in lines:
        line = line.rstrip("\n")
        if not line:
            if fields:
                yield fields
            fields, key = {}, None
        elif line[0] in " \t":
            if key:
                fields[key] += "\n" + line
        else:
            key, _, value = line.partition(":")
            fields[key] = value.strip()
    if fields:
        yield fields


def read_list(path: Path) -> Iterator[dict[str, str]]:
    """The paragraphs of a package list, one a package."""
    try:
        with open_list(path) as file:
            for fields in stanzas(file):
                if not fields.get("Package"):
                    raise ValueError("a paragraph without Package")
                yield fields
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, subprocess.CalledProcessError) as error:
        reason = getattr(error, "strerror", None) or error
        sys.exit(f"prepare: {path}: cannot be read as a package list ({reason}); {fetch_again(path.parent)}")


def fetch_again(directory: Path) -> str:
    """What to do about lists that are of no use."""
    return f"run apt-get update, or remove {directory} if it was downloaded by prepare.py"


def read_packages(directory: Path) -> list[Package]:
    """All packages of the lists in `directory`, with their long descriptions."""
    names = sorted(path for path in directory.iterdir() if path.is_file())
    lists = [path for path in names if re.search(r"_Packages(?:\.\w+)?$", path.name)]
    translations = [path for path in names if re.search(r"_Translation-en(?:\.\w+)?$", path.name)]
    if not lists:
        sys.exit(f"prepare: {directory}: no package lists there; run apt-get update first, or leave out --lists")
    long = {}
    for path in translations:
        for fields in read_list(path):
            long[fields["Package"], fields.get("Description-md5")] = fields.get("Description-en", "")
    packages = {}
    for path in lists:
        for fields in read_list(path):
            text = long.get((fields["Package"], fields.get("Description-md5"))) or fields.get("Description", "")
            synopsis, _, body = text.partition("\n")
            if body:
                source = (fields.get("Source") or fields["Package"]).split()[0]
                section = fields.get("Section", "").rpartition("/")[2]
                packages[fields["Package"]] = Package(
                    fields["Package"], source, section, synopsis, list(paragraphs(body))
                )
    if not packages:
        sys.exit(f"prepare: {directory}: no long descriptions there (no Translation-en lists); leave out --lists")
    return [packages[name] for name in sorted(packages)]


def paragraphs(body: str) -> Iterator[str]:
    """The prose of a long description: lists and examples are indented by more than one blank."""
    lines: list[str] = []
    for line in [*body.split("\n"), " ."]:
        if line.strip() not in ("", ".") and not re.match(r"\s{2}|\s*[-*o+\u2022]\s", line):
            lines.append(line)
        elif lines:
            yield " ".join(" ".join(lines).split())
            lines = []


def clean_synopsis(synopsis: str) -> str:
    """Without "(development files)" and the like, which tell one package of a source from another."""
    before = None
    while before != synopsis:
        before, synopsis = synopsis, QUALIFIER.sub("", synopsis.strip(" .:;,-"))
    return " ".join(synopsis.split())


def sentences(text: str) -> Iterator[str]:
    """The sentences of a paragraph that tell something: no addresses, no heads of lists."""
    for sentence in re.split(r"(?<=[.!?])\s+(?=[\"'(]?[A-Z0-9])", text):
        if not re.search(r"://|:$", sentence):
            yield sentence


def describe(texts: list[str]) -> str:
    """The first paragraph, and as many more as it takes to say something; whole sentences only."""
    words: list[str] = []
    for text in texts:
        for sentence in sentences(text):
            if words and PACKAGE_NOTE.search(sentence):  # a first sentence, the next may refer to
                continue
            if len(words) + len(sentence.split()) > WORDS[1]:
                return " ".join(words)
            words += sentence.split()
        if len(words) >= WORDS[0]:
            break
    return " ".join(words)


def stems(text: str) -> set:
    """Rough stems of the longer words."""
    return {word[:5] for word in re.findall(r"[a-z0-9]{4,}", text.lower())}


def make_pair(package: Package, common: set) -> Optional[Pair]:
    """The pair of a package, or None if one would not want to learn from it."""
    synopsis = clean_synopsis(package.synopsis)
    description = describe([text for text in package.paragraphs if blind(text) not in common])
    if USELESS.search(package.synopsis) or USELESS.search(description):
        return None
    if not (WORDS[0] <= len(description.split()) and 3 <= len(synopsis.split()) <= 15):
        return None
    # Program text and tables: hardly any ordinary words.
    words = description.split()
    if sum(bool(re.fullmatch(r"[\"'(]?[A-Za-z][A-Za-z'-]*[,.;:)\"']*", word)) for word in words) < 0.7 * len(words):
        return None
    if not stems(synopsis) & stems(description):
        return None
    return Pair(package.source, description, synopsis)


def blind(text: str) -> str:
    """Text without case, figures and punctuation."""
    return " ".join(re.findall(r"[a-z]+", text.lower()))


def common_paragraphs(packages: list[Package]) -> set:
    """Paragraphs that stand in the descriptions of several source packages."""
    owners = collections.defaultdict(set)
    for package in packages:
        for text in package.paragraphs:
            owners[blind(text)].add(package.source)
    return {text for text, sources in owners.items() if len(sources) >= BOILERPLATE}


def main_first(package: Package) -> tuple:
    """Sort key: the package that a source is about, before those that go with it."""
    return (
        package.source,
        package.section in SIDE_SECTIONS,
        bool(SIDE_NAME.search(package.name)),
        package.name != package.source,
        len(package.name),
        package.name,
    )


def shingles(text: str) -> set:
    """Three-word sequences, blind to case, figures and punctuation."""
    words = blind(text).split()
    return set(zip(words, words[1:], words[2:])) or {tuple(words)}


def drop_duplicates(pairs: Iterable[Pair], limit: float = 0.4) -> list[Pair]:
    """Keep the first of pairs with the same synopsis or much the same description, over all splits."""
    kept, sizes, synopses, per_source = [], [], set(), collections.Counter()
    owners: dict[tuple, list[int]] = collections.defaultdict(list)
    for pair in pairs:
        mine = shingles(pair.description)
        shared = collections.Counter(owner for shingle in mine for owner in owners[shingle])
        if (
            blind(pair.synopsis) in synopses
            or per_source[pair.source] >= MAX_PER_SOURCE
            or any(count / (len(mine) + sizes[owner] - count) >= limit for owner, count in shared.items())
        ):
            continue
        synopses.add(blind(pair.synopsis))
        per_source[pair.source] += 1
        for shingle in mine:
            owners[shingle].append(len(kept))
        sizes.append(len(mine))
        kept.append(pair)
    return kept


def split_by_source(pairs: list[Pair]) -> dict[str, list[Pair]]:
    """All packages of one source go to one split, by a hash of its name without version numbers."""
    splits = {"train": [], "valid": [], "test": []}
    for pair in pairs:
        family = re.sub(r"[-.]?\d[\d.]*", "", pair.source)
        position = int(hashlib.sha256(family.encode()).hexdigest()[:12], 16) / 16**12
        if position < HELD_OUT["valid"]:
            splits["valid"].append(pair)
        elif position < HELD_OUT["valid"] + HELD_OUT["test"]:
            splits["test"].append(pair)
        else:
            splits["train"].append(pair)
    return splits


def write_splits(splits: dict[str, list[Pair]], out: Path) -> None:
    """Write NAME.article and NAME.title, each complete or not at all."""
    out.mkdir(parents=True, exist_ok=True)
    for name, pairs in splits.items():
        for suffix, lines in (("article", [p.description for p in pairs]), ("title", [p.synopsis for p in pairs])):
            unfinished = out / f".{name}.{suffix}.unfinished"
            unfinished.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
            unfinished.rename(out / f"{name}.{suffix}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="directory for the text files")
    parser.add_argument(
        "--lists", type=Path, metavar="DIR", help="directory with apt's package lists, instead of downloading"
    )
    args = parser.parse_args()
    lists = args.lists or download(args.out)
    packages = sorted(read_packages(lists), key=main_first)
    common = common_paragraphs(packages)
    pairs = [pair for pair in (make_pair(package, common) for package in packages) if pair]
    unique = drop_duplicates(pairs)
    splits = split_by_source(unique)
    for name, split in splits.items():
        if not split:
            sys.exit(
                f"prepare: {lists}: {len(unique)} usable descriptions of {len(packages)} packages, too few for {name} "
                f"text; the lists of a whole distribution are needed: {fetch_again(lists)}"
            )
    write_splits(splits, args.out)
    print(f"{len(packages)} packages, {len(pairs)} usable, {len(unique)} without duplicates")
    print(", ".join(f"{name} {len(split)}" for name, split in splits.items()), "pairs in", args.out)


if __name__ == "__main__":
    try:
        main()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"prepare: {error}")

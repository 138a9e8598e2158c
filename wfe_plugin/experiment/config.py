"""What an experiment consists of, as its configuration file says it."""

from __future__ import annotations

import configparser
import difflib
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from wfe_plugin.evaluation.rouge_protocol import PROTOCOLS
from wfe_plugin.method.bound import DECODING_MODES

PRESETS = ("small", "paper")

# The paper's two systems, the stricter budget, the paper's two ingredients alone, and what a
# perfect estimator would give.
STANDARD_SYSTEMS = """\
[training EncDec]
baseline = yes

[training EncDec+WFE]

[system EncDec]
training = EncDec
decoding = off

[system EncDec+WFE]
training = EncDec+WFE
decoding = full

[system WFE, strict]
training = EncDec+WFE
decoding = strict

[system WFE, bound only]
training = EncDec+WFE
decoding = bound

[system WFE, gate only]
training = EncDec+WFE
decoding = gate

[system WFE, oracle]
training = EncDec+WFE
decoding = oracle
"""


class ConfigError(Exception):
    """A configuration that cannot be meant; the message names the file and the key."""


@dataclass(frozen=True)
class Data:
    """Either a directory that preprocess.sh made, or the arguments to make one with."""

    prepared: Path | None
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class TestSet:
    """A split of the data and how its summaries are judged."""

    __test__ = False  # for pytest, which takes it for a class of tests

    name: str
    split: str
    protocol: str
    references: tuple[Path, ...]  # raw text; none: the targets of the data


@dataclass(frozen=True)
class Training:
    """One way to train, for each seed."""

    name: str
    baseline: bool  # without the WFE sub-model
    options: tuple[str, ...]  # of train.sh; after --, of fairseq-train


@dataclass(frozen=True)
class System:
    """One way to decode with a trained model."""

    name: str
    training: Training
    decoding: str
    options: tuple[str, ...]  # of generate.sh; after --, of fairseq-generate


@dataclass(frozen=True)
class Experiment:
    """Everything that the configuration file determines."""

    file: Path
    title: str
    out: Path
    preset: str
    seeds: tuple[int, ...]
    beams: tuple[int, ...]
    data: Data
    tests: tuple[TestSet, ...]
    systems: tuple[System, ...]
    baseline: System  # what gains are measured against
    proposed: System  # what examples and summaries show beside it

    @property
    def trainings(self) -> list[Training]:
        """Those that a system needs, each once."""
        return list(dict.fromkeys(system.training for system in self.systems))


def slug(name: str) -> str:
    """A name as part of a file name."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.")


class Section:
    """One section of the file; knows how to complain about its keys."""

    def __init__(self, file: Path, name: str, content: dict, keys: str):
        self.file, self.name, self.content = file, name, content
        known = keys.split(", ")
        for key in content:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known keys: {keys}"
                self.fail(key, f"unknown key; {hint}")

    def fail(self, key: str, message: str):
        raise ConfigError(f"{self.file}: [{self.name}] {key}: {message}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.content.get(key, "").strip() or default
        if value is None:
            self.fail(key, "is missing")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        return self.split(key, self.text(key, ""))

    def split(self, key: str, value: str) -> tuple[str, ...]:
        try:
            return tuple(shlex.split(value))
        except ValueError as error:
            self.fail(key, f"{error}; quote as in a shell")

    def choice(self, key: str, choices, default: str | None = None) -> str:
        value = self.text(key, default)
        if value not in choices:
            self.fail(key, f"{value!r} is not one of {', '.join(choices)}")
        return value

    def yes_or_no(self, key: str) -> bool:
        return self.choice(key, ("yes", "no"), "no") == "yes"

    def numbers(self, key: str, default: str, least: int) -> tuple[int, ...]:
        values = self.text(key, default).replace(",", " ").split()
        for value in values:
            if not value.isdecimal() or int(value) < least:
                self.fail(key, f"{value!r} is not a whole number of at least {least}")
        numbers = tuple(map(int, values))
        if len(set(numbers)) < len(numbers):
            self.fail(key, "a number stands twice")
        return numbers

    def path(self, value: str) -> Path:
        """Paths are relative to the configuration file."""
        return (self.file.parent / value).absolute()


def read_experiment(file: str | Path) -> Experiment:
    """Read and check a configuration file."""
    file = Path(file)
    sections = parse(file, read_text(file))
    standard = parse(file, STANDARD_SYSTEMS)
    for kind in ("training", "system"):
        if not any(key[0] == kind for key in sections):
            sections.update({key: value for key, value in standard.items() if key[0] == kind})
    check_sections(file, sections)

    def named(kind: str, keys: str) -> list[tuple[str, Section]]:
        found = [
            (name, Section(file, f"{kind} {name}", content, keys))
            for (its_kind, name), content in sections.items()
            if its_kind == kind
        ]
        check_names(file, kind, [name for name, _ in found])
        return found

    trainings = {
        name: Training(name, section.yes_or_no("baseline"), section.words("options"))
        for name, section in named("training", "baseline, options")
    }
    systems = {
        name: read_system(name, section, trainings)
        for name, section in named("system", "training, decoding, options")
    }
    data = read_data(Section(file, "data", sections["data", ""], "prepared, train, valid, test, options"))
    tests = [
        TestSet(
            name,
            section.text("split", "test"),
            section.choice("protocol", PROTOCOLS, "gigaword"),
            tuple(map(section.path, section.words("references"))),
        )
        for name, section in named("test", "split, protocol, references")
    ] or [TestSet("test", "test", "gigaword", ())]
    main = Section(
        file,
        "experiment",
        sections.get(("experiment", ""), {}),
        "title, out, preset, seeds, beams, baseline, proposed, training options, decoding options",
    )
    return read_main(main, data, tests, with_common_options(main, systems))


def read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: is not UTF-8 text") from None
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror})") from None


def parse(file: Path, text: str) -> dict[tuple[str, str], dict[str, str]]:
    """The sections by kind and name: `[system EncDec]` is ("system", "EncDec")."""
    parser = configparser.ConfigParser(
        interpolation=None,  # % is nothing special
        delimiters=("=",),
        inline_comment_prefixes=("#",),
        default_section="",  # no section hands its keys down to the others
    )
    try:
        parser.read_string(text, str(file))
    except configparser.DuplicateOptionError as error:
        raise ConfigError(f"{file}: [{error.section}] {error.option}: stands twice (line {error.lineno})") from None
    except configparser.DuplicateSectionError as error:
        raise ConfigError(f"{file}: [{error.section}] stands twice (line {error.lineno})") from None
    except configparser.MissingSectionHeaderError as error:
        raise ConfigError(f"{file}, line {error.lineno}: a [section] must come first") from None
    except configparser.ParsingError as error:
        line, content = error.errors[0]
        raise ConfigError(f"{file}, line {line}: expected key = value, found {content}") from None
    sections = {}
    for name in parser.sections():
        kind, _, rest = name.strip().partition(" ")
        sections[kind, rest.strip()] = dict(parser[name])
    return sections


def check_sections(file: Path, sections) -> None:
    for kind, name in sections:
        if kind in ("experiment", "data"):
            if name:
                raise ConfigError(f"{file}: [{kind} {name}]: [{kind}] has no name")
        elif kind not in ("test", "training", "system"):
            raise ConfigError(
                f"{file}: [{kind}]: unknown section; known are [experiment], [data], [test NAME], "
                "[training NAME] and [system NAME]"
            )
    if ("data", "") not in sections:
        raise ConfigError(f"{file}: [data]: is missing; it names the text, or a prepared directory")


def check_names(file: Path, kind: str, names: list[str]) -> None:
    """Names become file names, which must be different ones."""
    seen: dict[str, str] = {}
    for name in names:
        if not slug(name):
            raise ConfigError(f"{file}: [{kind} {name}]: needs a name with letters or digits")
        other = seen.setdefault(slug(name).lower(), name)
        if other != name:
            raise ConfigError(f"{file}: [{kind} {name}]: too much like {other!r}; files are named after it")


def read_data(section: Section) -> Data:
    if "prepared" in section.content:
        for key in ("train", "valid", "test", "options"):
            if key in section.content:
                section.fail(key, "has no use beside 'prepared'")
        return Data(section.path(section.text("prepared")), ())
    arguments = []
    for name in ("train", "valid", "test"):
        lines = [section.split(name, line) for line in section.text(name).splitlines()]
        if name != "test" and len(lines) > 1:
            section.fail(name, "one line only")
        if any(len(words) not in (1, 2) for words in lines) or len(set(map(len, lines))) > 1:
            section.fail(name, "each line is a prefix, or each is a source file and a target file")
        paths = [[str(section.path(word)) for word in words] for words in lines]
        if len(lines[0]) == 1:
            arguments += [f"--{name}", *(path for (path,) in paths)]
        else:
            for pair in paths:
                arguments += [f"--{name}-files", *pair]
    return Data(None, (*arguments, *section.words("options")))


def read_system(name: str, section: Section, trainings: dict[str, Training]) -> System:
    training = trainings[section.choice("training", list(trainings))]
    decoding = section.choice("decoding", [*DECODING_MODES, "off"], "off" if training.baseline else "full")
    if training.baseline and decoding not in ("off", "oracle"):
        section.fail("decoding", f"{training.name!r} estimates no frequencies: choose off or oracle")
    return System(name, training, decoding, section.words("options"))


def with_common_options(main: Section, systems: dict[str, System]) -> dict[str, System]:
    """Options for all come first, so that one system's own can override them."""
    common_training = main.words("training options")
    common_decoding = main.words("decoding options")

    def complete(system: System) -> System:
        training = system.training
        training = replace(training, options=joined(common_training, training.options))
        return replace(system, training=training, options=joined(common_decoding, system.options))

    return {name: complete(system) for name, system in systems.items()}


def joined(*groups: tuple[str, ...]) -> tuple[str, ...]:
    """Options of several places on one command line, where "--" may stand only once."""
    ours: list[str] = []
    fairseq: list[str] = []
    for words in groups:
        cut = words.index("--") if "--" in words else len(words)
        ours += words[:cut]
        fairseq += words[cut + 1 :]
    return (*ours, *(["--", *fairseq] if fairseq else []))


def read_main(main: Section, data: Data, tests: list[TestSet], systems: dict[str, System]) -> Experiment:
    names = list(systems)
    baseline = main.choice("baseline", names, names[0])
    others = [name for name in names if name != baseline]
    proposed = main.choice("proposed", names, (others or names)[0])
    return Experiment(
        file=main.file,
        title=main.text("title", main.file.stem),
        out=main.path(main.text("out", "results")),
        preset=main.choice("preset", PRESETS, "small"),
        seeds=main.numbers("seeds", "1", least=0),
        beams=main.numbers("beams", "1 5 10", least=1),
        data=data,
        tests=tuple(tests),
        systems=tuple(systems.values()),
        baseline=systems[baseline],
        proposed=systems[proposed],
    )

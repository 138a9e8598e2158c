"""What an experiment consists of, as its configuration file says it."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from pathlib import Path

from wfe_plugin.evaluation.rouge_protocol import PROTOCOLS
from wfe_plugin.experiment.options import read_options, refuse_tuning
from wfe_plugin.experiment.sections import ConfigError, Section, parse, read_text
from wfe_plugin.method.bound import DECODING_MODES
from wfe_plugin.pipeline.presets import PRESETS

ROLES = ("alternative", "wfe", "oracle")  # and the baseline, which [experiment] names

# The paper's two systems, the stricter budget, the paper's two ingredients alone, an estimator
# that sees the source's words, and what a perfect one would give.
STANDARD_SYSTEMS = """\
[training EncDec]
baseline = yes

[training EncDec+WFE]

[training WFE, copying]
add wfe to = EncDec
options = --estimator copying --epochs 6

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

[system WFE, copying]
training = WFE, copying
decoding = full

[system WFE, oracle]
training = EncDec+WFE
decoding = oracle
"""


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
    preset: str  # of train.sh
    baseline: bool  # without the WFE sub-model
    options: tuple[str, ...]  # of train.sh; after --, of fairseq-train
    base: Training | None = None  # whose model word-frequency estimation is added to, or
    further: bool = False  # whose model is trained further

    @property
    def model_preset(self) -> str:
        """The preset that says of which size the model is."""
        return self.base.model_preset if self.further else self.preset

    @property
    def ancestors(self) -> list[Training]:
        """The trainings that must be finished before, in turn."""
        return [*self.base.ancestors, self.base] if self.base else []


@dataclass(frozen=True)
class System:
    """One way to decode with a trained model."""

    name: str
    training: Training
    decoding: str
    options: tuple[str, ...]  # of generate.sh; after --, of fairseq-generate
    role: str  # one of ROLES, or "baseline"
    grid: tuple[tuple[str, tuple[str, ...]], ...] = ()  # options of fairseq-generate to tune, with their values
    rivals: tuple[str, ...] = ()  # names of the systems that the report compares it with, in words

    def candidates(self) -> list[tuple[str, ...]]:
        """What can be chosen: one value for each option of the grid, in the order of the file."""
        return list(itertools.product(*(values for _, values in self.grid)))

    def with_values(self, values: tuple[str, ...]) -> System:
        """The system with its options set."""
        chosen = [word for (option, _), value in zip(self.grid, values) for word in (option, value)]
        return replace(self, options=joined(self.options, ("--", *chosen)))


@dataclass(frozen=True)
class Experiment:
    """Everything that the configuration file determines."""

    file: Path
    title: str
    out: Path
    preset: str  # of the trainings that choose no other
    seeds: tuple[int, ...]
    beams: tuple[int, ...]
    data: Data
    tests: tuple[TestSet, ...]
    systems: tuple[System, ...]
    baseline: System  # what gains are measured against
    proposed: System  # what examples and summaries show beside it
    tuning_beam: int
    speed_rounds: int  # 0: speeds are not measured

    @property
    def middle_beam(self) -> int:
        """The beam of pictures and examples: 5 in the paper."""
        return self.beams[len(self.beams) // 2]

    @property
    def trainings(self) -> list[Training]:
        """Those that a system needs, each once, those that others build on first."""
        needed = [system.training for system in self.systems]
        chains = [[*training.ancestors, training] for training in needed]
        return sorted(dict.fromkeys(itertools.chain(*chains)), key=lambda training: len(training.ancestors))


def slug(name: str) -> str:
    """A name as part of a file name."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.")


def read_experiment(file: str | Path) -> Experiment:
    """Read and check a configuration file."""
    file = Path(file)
    sections = parse(file, read_text(file))
    standard = parse(file, STANDARD_SYSTEMS)
    if not any(kind == "training" for kind, _ in sections):
        sections.update({key: content for key, content in standard.items() if key[0] == "training"})
    if not any(kind == "system" for kind, _ in sections):
        for key, content in standard.items():
            if key[0] == "system" and ("training", content["training"]) in sections:
                sections[key] = content
    check_sections(file, sections)

    def named(kind: str, keys: str) -> list[tuple[str, Section]]:
        found = [
            (name, Section(file, f"{kind} {name}", content, keys))
            for (its_kind, name), content in sections.items()
            if its_kind == kind
        ]
        check_names(file, kind, [name for name, _ in found])
        return found

    main = Section(
        file,
        "experiment",
        sections.get(("experiment", ""), {}),
        "title, out, preset, seeds, beams, baseline, proposed, training options, decoding options, tuning beam, "
        "speed rounds",
    )
    # Options for all come first, so that one system's own can override them.
    for_trainings = read_options(main, "training options", "train.sh")
    for_systems = read_options(main, "decoding options", "generate.sh")
    preset = main.choice("preset", PRESETS, "small")
    trainings = read_trainings(
        named("training", "preset, baseline, add wfe to, start from, options"), preset, for_trainings
    )
    system_sections = dict(named("system", "training, decoding, options, role, tune, compare with"))
    baseline = main.choice("baseline", list(system_sections), next(iter(system_sections)))
    systems = {
        name: read_system(name, section, trainings, for_systems, name == baseline)
        for name, section in system_sections.items()
    }
    systems = {
        name: replace(system, rivals=read_rivals(system_sections[name], system, systems, baseline))
        for name, system in systems.items()
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
    return read_main(main, preset, data, tests, systems, baseline)


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
    return Data(None, (*arguments, *read_options(section, "options", "preprocess.sh")))


def read_trainings(
    sections: list[tuple[str, Section]], common_preset: str, common_options: tuple[str, ...]
) -> dict[str, Training]:
    presets = {name: section.choice("preset", PRESETS, common_preset) for name, section in sections}
    # Models that cannot estimate frequencies are baselines, whether the file says it or not.
    baselines = [
        name for name, section in sections if section.yes_or_no("baseline") or not PRESETS[presets[name]].takes_wfe
    ]
    trainings: dict[str, Training] = {}
    # Baselines come first: the others refer to them, and to what stands above them in the file.
    for name, section in sorted(sections, key=lambda item: item[0] not in baselines):
        base, baseline = None, name in baselines
        further = PRESETS[presets[name]].trains_further
        if further != ("start from" in section.content):
            section.fail("start from", f"preset {presets[name]} " + ("needs it" if further else "does not take it"))
        if further:
            for key in ("baseline", "add wfe to"):
                if key in section.content:
                    section.fail(key, "has no use beside 'start from'")
            base = trainings[section.choice("start from", list(trainings))]
            baseline = base.baseline
        if "add wfe to" in section.content:
            if baseline:
                section.fail("add wfe to", "a baseline estimates no frequencies")
            base = trainings[section.choice("add wfe to", [name for name in trainings if trainings[name].baseline])]
            if base.model_preset != presets[name]:
                section.fail("add wfe to", f"{base.name!r} has another preset, {base.model_preset}")
        options = joined(common_options, read_options(section, "options", "train.sh"))
        trainings[name] = Training(name, presets[name], baseline, options, base, further)
    return trainings


def read_system(
    name: str, section: Section, trainings: dict[str, Training], common: tuple[str, ...], is_baseline: bool
) -> System:
    training = trainings[section.choice("training", list(trainings))]
    decoding = section.choice("decoding", [*DECODING_MODES, "off"], "off" if training.baseline else "full")
    if training.baseline and decoding not in ("off", "oracle"):
        section.fail("decoding", f"{training.name!r} estimates no frequencies: choose off or oracle")
    options = joined(common, read_options(section, "options", "generate.sh"))
    role = read_role(section, training, decoding, is_baseline)
    return System(name, training, decoding, options, role, read_grid(section))


def read_role(section: Section, training: Training, decoding: str, is_baseline: bool) -> str:
    """What the system is in the comparison; mostly the file need not say it."""
    if is_baseline:
        if "role" in section.content:
            section.fail("role", "this is the baseline of [experiment], and can be nothing else")
        return "baseline"
    rule = "oracle" if decoding == "oracle" else "alternative" if training.baseline else "wfe"
    return section.choice("role", ROLES, rule)


def read_rivals(section: Section, system: System, systems: dict[str, System], baseline: str) -> tuple[str, ...]:
    """Those that the file names, one a line; otherwise what the system was made from, or the baseline."""
    named = [line.strip() for line in section.text("compare with", "").splitlines() if line.strip()]
    if "compare with" in section.content and (not named or len(set(named)) < len(named)):
        section.fail("compare with", "name one system a line, each once")
    for name in named:
        if name not in systems or name == system.name:
            others = ", ".join(other for other in systems if other != system.name)
            one_of = f"{name!r} is not one of {others}; one a line"
            section.fail("compare with", one_of if others else "there is no other system; leave it out")
    if named or system.name == baseline:
        return tuple(named)
    origins = [
        other.name for other in systems.values() if other.training == system.training.base and other.role != "oracle"
    ]
    return ((origins or [baseline])[0],)


def read_grid(section: Section) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """One option a line, with its values."""
    if "tune" not in section.content:
        return ()
    example = "write, for example: --repetition-penalty 1.1 1.5 2"
    grid: dict[str, tuple[str, ...]] = {}
    lines = [line for line in section.text("tune", "").splitlines() if line.strip()]
    for line in lines or section.fail("tune", f"is empty; {example}"):
        option, *values = section.split("tune", line)
        if not re.fullmatch(r"--\w[\w-]*", option):
            section.fail("tune", f"a line must begin with an option, not with {option!r}; {example}")
        refuse_tuning(section, option)
        if any(value.startswith("--") for value in values):
            section.fail("tune", f"{option}: a second option belongs on a line of its own")
        if len(values) < 2:
            section.fail("tune", f"{option} needs two values or more to choose from; {example}")
        if len(set(map(slug, values))) < len(values):
            section.fail("tune", f"{option}: a value stands twice, or two differ by signs only")
        if option in grid:
            section.fail("tune", f"{option} stands twice")
        if any(word.partition("=")[0] == option for word in section.words("options")):
            section.fail("tune", f"{option} stands in 'options', too")
        grid[option] = tuple(values)
    return tuple(grid.items())


def joined(*groups: tuple[str, ...]) -> tuple[str, ...]:
    """Options of several places on one command line, where "--" may stand only once."""
    ours: list[str] = []
    fairseq: list[str] = []
    for words in groups:
        cut = words.index("--") if "--" in words else len(words)
        ours += words[:cut]
        fairseq += words[cut + 1 :]
    return (*ours, *(["--", *fairseq] if fairseq else []))


def read_main(
    main: Section, preset: str, data: Data, tests: list[TestSet], systems: dict[str, System], baseline: str
) -> Experiment:
    names = list(systems)
    others = [name for name in names if name != baseline]
    proposed = main.choice("proposed", names, (others or names)[0])
    beams = main.numbers("beams", "1 5 10", least=1)
    return Experiment(
        file=main.file,
        title=main.text("title", main.file.stem),
        out=main.path(main.text("out", "results")),
        preset=preset,
        seeds=main.numbers("seeds", "1", least=0),
        beams=beams,
        data=data,
        tests=tuple(tests),
        systems=tuple(systems.values()),
        baseline=systems[baseline],
        proposed=systems[proposed],
        tuning_beam=main.number("tuning beam", str(beams[len(beams) // 2]), least=1),
        speed_rounds=main.number("speed rounds", "3", least=0),
    )

"""Reading the configuration file of an experiment."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation.rouge_protocol import PROTOCOLS
from wfe_plugin.experiment.options import read_options, refuse_tuning
from wfe_plugin.experiment.plan import ROLES, Data, Experiment, System, TestSet, Training, joined, slug
from wfe_plugin.experiment.sections import Section, parse, read_text
from wfe_plugin.pipeline.presets import ESTIMATORS, PRESETS

DECODINGS = ("auto", "full", "strict", "bound", "gate", "oracle", "off")

# The paper's two systems, what can be had without an estimate, and the default of this project.
STANDARD_SYSTEMS = """\
[training EncDec]
baseline = yes

[training EncDec+WFE]
estimator = paper

[training EncDec+copying]
baseline = yes
options = --copying

[training WFE votes]
add wfe to = EncDec+copying
estimator = votes

[system EncDec]
training = EncDec

[system EncDec, cap 1]
training = EncDec
options = --word-cap 1

[system Rule without training]
training = EncDec
options = --word-cap 1
tune = --out-of-source-penalty 1 2 3 4
  --word-reward 0 0.5 1 2

[system EncDec+WFE]
training = EncDec+WFE
decoding = full
compare with = EncDec
  EncDec, cap 1

[system EncDec+copying]
training = EncDec+copying

[system EncDec+copying, rule]
training = EncDec+copying
options = --word-cap 1
tune = --out-of-source-penalty 0.5 1 2 4
  --word-reward 0 0.5 1 2

[system WFE votes]
training = WFE votes
decoding = auto
compare with = EncDec
  Rule without training
  EncDec+WFE
  EncDec+copying
  EncDec+copying, rule
"""
TRAINING_KEYS = "preset, baseline, estimator, add wfe to, start from, options"
SYSTEM_KEYS = "training, decoding, options, outputs, role, tune, compare with"
MAIN_KEYS = (
    "title, out, preset, seeds, beams, baseline, proposed, training options, decoding options, tuning beam, "
    "speed rounds"
)


def read_experiment(file: str | Path) -> Experiment:
    """Read and check a configuration file."""
    file = Path(file)
    sections = with_standard_systems(file, parse(file, read_text(file)))
    check_sections(file, sections)

    def named(kind: str, keys: str) -> dict[str, Section]:
        found = {
            name: Section(file, f"{kind} {name}", content, keys)
            for (its_kind, name), content in sections.items()
            if its_kind == kind
        }
        check_names(file, kind, list(found))
        return found

    main = Section(file, "experiment", sections.get(("experiment", ""), {}), MAIN_KEYS)
    # Options for all come first, so that one system's own can override them.
    for_trainings = read_options(main, "training options", "wfe-train")
    preset = main.choice("preset", PRESETS, "small")
    trainings = read_trainings(named("training", TRAINING_KEYS), preset, for_trainings)
    tests = [
        TestSet(
            name,
            section.text("split", "test"),
            section.choice("protocol", PROTOCOLS, "gigaword"),
            tuple(map(section.path, section.words("references"))),
        )
        for name, section in named("test", "split, protocol, references").items()
    ] or [TestSet("test", "test", "gigaword", ())]
    systems, baseline = read_systems(main, named("system", SYSTEM_KEYS), trainings, tests)
    data = read_data(Section(file, "data", sections["data", ""], "prepared, train, valid, test, options"))
    return read_main(main, preset, data, tests, systems, baseline)


def with_standard_systems(file: Path, sections: dict) -> dict:
    """Trainings and systems where the file has none of its own; standard systems need their training."""
    standard = parse(file, STANDARD_SYSTEMS)
    sections = dict(sections)
    if not any(kind == "training" for kind, _ in sections):
        sections.update({key: content for key, content in standard.items() if key[0] == "training"})
        preset = PRESETS.get(sections.get(("experiment", ""), {}).get("preset", "small").strip())
        if preset and not preset.can_copy:
            del sections["training", "EncDec+copying"]
            sections["training", "WFE votes"] = {"add wfe to": "EncDec", "estimator": "votes"}
    if not any(kind == "system" and "outputs" not in content for (kind, _), content in sections.items()):
        chosen = {
            key: dict(content)
            for key, content in standard.items()
            if key[0] == "system" and ("training", content["training"]) in sections
        }
        for content in chosen.values():
            rivals = [name.strip() for name in content.pop("compare with", "").splitlines()]
            there = [name for name in rivals if ("system", name) in chosen]
            content.update({"compare with": "\n".join(there)} if there else {})
        # Those of another program come last.
        others = {key: sections.pop(key) for key in list(sections) if key[0] == "system"}
        sections.update({**chosen, **others})
    return sections


def check_sections(file: Path, sections) -> None:
    for kind, name in sections:
        if kind in ("experiment", "data"):
            if name:
                raise UserError(f"{file}: [{kind} {name}]: write [{kind}] without a name")
        elif kind not in ("test", "training", "system"):
            raise UserError(
                f"{file}: [{kind}]: unknown section; known are [experiment], [data], [test NAME], "
                "[training NAME] and [system NAME]"
            )
    if ("data", "") not in sections:
        raise UserError(f"{file}: [data]: is missing; add it to name the text or a prepared directory")


def check_names(file: Path, kind: str, names: list[str]) -> None:
    """Names become file names, which must be different ones."""
    seen: dict[str, str] = {}
    for name in names:
        if not slug(name):
            raise UserError(f"{file}: [{kind} {name}]: needs a name with letters or digits")
        other = seen.setdefault(slug(name).lower(), name)
        if other != name:
            raise UserError(
                f"{file}: [{kind} {name}]: too similar to {other!r}: files are named after it; choose another name"
            )


def read_data(section: Section) -> Data:
    if "prepared" in section.content:
        for key in ("train", "valid", "test", "options"):
            if key in section.content:
                section.fail(key, "has no effect with 'prepared'; leave it out")
        return Data(section.path(section.text("prepared")), ())
    arguments = []
    for name in ("train", "valid", "test"):
        lines = [section.split(name, line) for line in section.text(name).splitlines()]
        if name != "test" and len(lines) > 1:
            section.fail(name, "give one line only")
        if any(len(words) not in (1, 2) for words in lines) or len(set(map(len, lines))) > 1:
            section.fail(name, "give one prefix per line, or a source file and a target file per line")
        paths = [[str(section.path(word)) for word in words] for words in lines]
        if len(lines[0]) == 1:
            arguments += [f"--{name}", *(path for (path,) in paths)]
        else:
            for pair in paths:
                arguments += [f"--{name}-files", *pair]
    return Data(None, (*arguments, *read_options(section, "options", "wfe-preprocess")))


def read_trainings(
    sections: dict[str, Section], common_preset: str, common_options: tuple[str, ...]
) -> dict[str, Training]:
    presets = {name: section.choice("preset", PRESETS, common_preset) for name, section in sections.items()}
    trainings: dict[str, Training] = {}

    def baseline(name: str) -> bool:
        # Models that cannot estimate frequencies are baselines, whether the file says so or not.
        return sections[name].yes_or_no("baseline") or not PRESETS[presets[name]].takes_wfe

    # Baselines come first: the others refer to them, and to what is above them in the file.
    for name in sorted(sections, key=lambda name: not baseline(name)):
        section, preset = sections[name], presets[name]
        options = joined(common_options, read_options(section, "options", "wfe-train"))
        further = PRESETS[preset].trains_further
        if further != ("start from" in section.content):
            section.fail("start from", f"preset {preset} " + ("needs it" if further else "does not take it"))
        base, estimator = None, ""
        if further:
            refuse_keys(section, ("baseline", "add wfe to", "estimator"), "start from")
            base = trainings[section.choice("start from", list(trainings))]
            estimator = base.estimator
        elif baseline(name):
            for key in ("add wfe to", "estimator"):
                if key in section.content:
                    section.fail(key, "a baseline estimates no frequencies; leave it out")
        else:
            estimator = section.choice("estimator", ESTIMATORS, "paper")
        if "add wfe to" in section.content:
            plain = [other for other in trainings if not trainings[other].estimator]
            base = trainings[section.choice("add wfe to", plain)]
            if base.model_preset != preset:
                section.fail("add wfe to", f"{base.name!r} has another preset, {base.model_preset}")
        trainings[name] = Training(name, preset, estimator, options, base, further)
    return trainings


def refuse_keys(section: Section, keys: tuple[str, ...], beside: str) -> None:
    for key in keys:
        if key in section.content:
            section.fail(key, f"has no effect with {beside!r}; leave it out")


def read_systems(
    main: Section, sections: dict[str, Section], trainings: dict[str, Training], tests: list[TestSet]
) -> tuple[dict[str, System], str]:
    """All systems, and which is the baseline."""
    common = read_decoding_options(main, "decoding options")
    baseline = main.choice("baseline", list(sections), next(iter(sections)))
    systems = {}
    for name, section in sections.items():
        if "outputs" in section.content:
            systems[name] = read_outputs(name, section, tests, name == baseline)
        else:
            systems[name] = read_system(name, section, trainings, common, name == baseline)
    for name, section in sections.items():
        systems[name] = replace(systems[name], rivals=read_rivals(section, systems[name], systems, baseline))
    return systems, baseline


def read_decoding_options(section: Section, key: str) -> tuple[str, ...]:
    """Options of fairseq-generate, with or without "--" in front of them, as for wfe-generate."""
    ours = read_options(section, key, "wfe-generate")
    return tuple(word for word in ours if word != "--")


def read_system(
    name: str, section: Section, trainings: dict[str, Training], common: tuple[str, ...], is_baseline: bool
) -> System:
    training = trainings[section.choice("training", list(trainings))]
    decoding = section.choice("decoding", DECODINGS, "auto" if training.estimator else "off")
    if not training.estimator and decoding not in ("off", "oracle"):
        section.fail("decoding", f"{training.name!r} estimates no frequencies: choose off or oracle")
    options = (*common, *read_decoding_options(section, "options"))
    rule = "oracle" if decoding == "oracle" else "wfe" if training.estimator else "alternative"
    role = read_role(section, rule, is_baseline)
    return System(name, training, decoding, options, role, read_grid(section))


def read_outputs(name: str, section: Section, tests: list[TestSet], is_baseline: bool) -> System:
    """Summaries of another program, one file for all or one per set, seed and beam."""
    refuse_keys(section, ("training", "decoding", "options", "tune"), "outputs")
    pattern = section.text("outputs")
    if len(tests) > 1 and "{set}" not in pattern:
        section.fail(
            "outputs",
            "there are several test sets: put {set}, which stands for the NAME of [test NAME], into the file name",
        )
    unknown = sorted(set(re.findall(r"\{\w*\}", pattern)) - {"{set}", "{seed}", "{beam}"})
    if unknown:
        section.fail("outputs", f"{unknown[0]} is not one of {{set}}, {{seed}}, {{beam}}")
    role = read_role(section, "alternative", is_baseline)
    return System(name, None, "", (), role, outputs=str(section.path(pattern)))


def read_role(section: Section, rule: str, is_baseline: bool) -> str:
    """What the system is in the comparison; mostly the file need not say it."""
    if is_baseline:
        if "role" in section.content:
            section.fail("role", "this system is the baseline of [experiment]; leave it out")
        return "baseline"
    return section.choice("role", ROLES, rule)


def read_rivals(section: Section, system: System, systems: dict[str, System], baseline: str) -> tuple[str, ...]:
    """Those that the file names, one per line; otherwise what the system was made from, or the baseline."""
    named = [line.strip() for line in section.text("compare with", "").splitlines() if line.strip()]
    if "compare with" in section.content and (not named or len(set(named)) < len(named)):
        section.fail("compare with", "name one system per line, each once")
    for name in named:
        if name not in systems or name == system.name:
            others = ", ".join(other for other in systems if other != system.name)
            one_of = f"{name!r} is not one of {others}; one per line"
            section.fail("compare with", one_of if others else "there is no other system; leave it out")
    if named or system.name == baseline:
        return tuple(named)
    base = system.training.base if system.training else None
    origins = [other.name for other in systems.values() if base and other.training == base and other.role != "oracle"]
    return ((origins or [baseline])[0],)


def read_grid(section: Section) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """One option per line, with its values."""
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
            section.fail("tune", f"{option} needs at least two values to choose from; {example}")
        if len(set(map(slug, values))) < len(values):
            section.fail("tune", f"{option}: a value is duplicated, or two values differ only in punctuation")
        if option in grid:
            section.fail("tune", f"{option} is duplicated")
        if any(word.partition("=")[0] == option for word in section.words("options")):
            section.fail("tune", f"{option} is also in 'options'")
        grid[option] = tuple(values)
    return tuple(grid.items())


def read_main(
    main: Section, preset: str, data: Data, tests: list[TestSet], systems: dict[str, System], baseline: str
) -> Experiment:
    names = list(systems)
    estimated = [name for name in names if systems[name].role == "wfe"]
    others = [name for name in names if name != baseline]
    proposed = main.choice("proposed", names, [baseline, *others[:1], *estimated][-1])
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

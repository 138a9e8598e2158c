"""A model that can leave its data: one directory with everything to decode with, and nothing else."""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import torch

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline import checkpoints
from wfe_plugin.pipeline.record import RECORD
from wfe_plugin.pipeline.summarizer import MODEL, find_data, find_models
from wfe_plugin.pipeline.treat import SETTINGS_FILE, Treatment, model_files
from wfe_plugin.pipeline.work_directory import resolved, work_directory
from wfe_plugin.versions import versions
from wfe_plugin.whole_files import named, write_json, write_text

CARD = "README.md"
# Options of fairseq-train that name files of the machine, and what takes their place.
PLACES = {
    "common": {"user_dir": None, "tensorboard_logdir": None, "log_file": None},
    "common_eval": {"path": None, "results_path": None},
    "checkpoint": {"save_dir": "checkpoints", "restore_file": "checkpoint_last.pt", "finetune_from_model": None},
    "task": {"data": "."},
}


def export(model: str, out: str, data: Optional[str] = None, scores: Sequence[str] = ()) -> Path:
    """Write the directory, which must not be there yet; it is found under its name when it is complete.

    Args:
        model: directory made by wfe-train, or a checkpoint
        out: the new directory
        data: what the model was trained on, if it is not where it was
        scores: files of scores, made by wfe-generate or wfe-evaluate, for the model card
    """
    paths = find_models(model)
    if len(paths) > 1:
        raise UserError(f"{model}: is an ensemble; export one model at a time")
    final = resolved(out)
    if final.exists():
        raise UserError(f"{out}: already exists; choose another --out")
    (path,) = paths
    state = checkpoints.load(path)
    data_path = find_data({path: state}, data)
    treatment = Treatment.load(data_path)
    results = [read_scores(file) for file in scores]
    final.parent.mkdir(parents=True, exist_ok=True)
    with work_directory(final.parent, f".{final.name}.unfinished-") as work, named(out):
        new = work / "model"
        new.mkdir()
        prepared = json.loads((data_path / SETTINGS_FILE).read_text(encoding="utf-8"))
        torch.save(bare(state), new / MODEL)
        for file in model_files(data_path, treatment.settings):
            shutil.copyfile(file, new / file.name)
        write_json(new / SETTINGS_FILE, {"settings": prepared["settings"], "text": {}, "report": {}})
        write_text(new / CARD, card(final.name, path, state, prepared, results))
        new.rename(final)
    return final


def bare(state: dict[str, Any]) -> dict[str, Any]:
    """The checkpoint without the state of its optimizer, and without names of places on this machine."""
    extra = state.get("extra_state") or {}
    return {
        **{name: state.get(name) for name in ("args", "model", "task_state", "optimizer_history")},
        "cfg": portable(state["cfg"]),
        "criterion": None,
        "last_optimizer_state": None,
        "extra_state": {
            "train_iterator": {"epoch": (extra.get("train_iterator") or {}).get("epoch", 1)},
            **{name: extra[name] for name in ("val_loss", "previous_training_time") if name in extra},
        },
    }


def portable(cfg: dict) -> dict:
    """fairseq's configuration with the `PLACES` replaced."""
    cfg = dict(cfg)
    for section, places in PLACES.items():
        if isinstance(cfg.get(section), dict):
            cfg[section] = {**cfg[section], **{name: value for name, value in places.items() if name in cfg[section]}}
    return cfg


def updates(state: dict) -> int:
    history = state.get("optimizer_history") or [{}]
    return int(history[-1].get("num_updates", 0))


def read_scores(file: str) -> tuple[str, dict]:
    """A name and what wfe-evaluate found."""
    try:
        content = json.loads(Path(file).read_text(encoding="utf-8"))
        content["systems"][0]["rouge"], content["headline"]
    except (ValueError, KeyError, TypeError, IndexError):
        raise UserError(
            f"{file}: not a scores file; name scores.json of wfe-generate, or a file of wfe-evaluate --json"
        ) from None
    return os.path.join(Path(file).absolute().parent.name, Path(file).name), content


def card(name: str, path: Path, state: dict, prepared: dict, results: Sequence[tuple[str, dict]]) -> str:
    """The model card, in Markdown."""
    rows = {**training_facts(path, state), **data_facts(prepared), **exported_with()}
    lines = [f"# {name}", "", "A summarization model of wfe_plugin, for fairseq.", ""]
    lines += ["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in rows.items()), ""]
    if results:
        lines += ["| scores | sentences | protocol | ROUGE-1 | ROUGE-2 | ROUGE-L |", "|---|---|---|---|---|---|"]
        for file, content in results:
            rouge = content["systems"][0]["rouge"]
            values = " | ".join(f"{rouge[metric][content['headline']]['value']:.2f}" for metric in rouge)
            lines.append(f"| {file} | {content['sentences']} | {content['protocol']} | {values} |")
        lines.append("")
    return "\n".join([*lines, USE])


USE = """\
Use:

```
wfe-generate --model DIR --input articles.txt --out summaries
```

```python
from wfe_plugin import Summarizer

Summarizer("DIR").summarize(["..."])
```

fairseq's own commands take the directory as data and DIR/model.pt as `--path`, with
`--user-dir "$(wfe-user-dir)" --task summarization_wfe`; their input must be treated first
(`wfe-treat apply DIR`).
"""


def training_facts(path: Path, state: dict) -> dict[str, str]:
    """What the checkpoint, and the record of the training beside it, tell."""
    model = state["cfg"].get("model")
    options = model if isinstance(model, dict) else vars(model)
    extra = state.get("extra_state") or {}
    facts = {"architecture": options.get("_name") or options.get("arch") or "unknown"}
    weights = {tensor.data_ptr(): tensor.numel() for tensor in state["model"].values()}
    facts["parameters"] = f"{sum(weights.values()):,}"
    if checkpoints.has_wfe(state):
        facts["estimator"] = options.get("wfe_estimator", "paper")
        facts["calibration"] = options.get("wfe_calibration") or "none: decoded as in the paper"
    else:
        facts["estimator"] = "none"
    try:
        settings = json.loads(path.with_name(RECORD).read_text(encoding="utf-8"))["settings"]
        facts["preset"] = settings["preset"]
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not made by wfe-train
    facts["updates"] = f"{updates(state):,}"
    if isinstance(extra.get("val_loss"), float):
        facts["validation loss"] = f"{extra['val_loss']:.3f}"
    return facts


def data_facts(prepared: dict) -> dict[str, str]:
    settings, report = prepared["settings"], prepared["report"]
    done = [key for key in ("tokenize", "lowercase", "digits") if settings[key]]
    if settings["bpe"] != "none":
        done.append(f"BPE, {settings['bpe']}, {settings['merges']} merges")
    counts = (f"{name} {numbers['lines']:,}" for name, numbers in report.items())
    return {"text pairs": ", ".join(counts) or "unknown", "treatment": ", ".join(done) or "none"}


def exported_with() -> dict[str, str]:
    return {"exported with": ", ".join(f"{name} {version}" for name, version in versions().items())}

"""Word-frequency estimation (WFE) for fairseq: summaries that do not repeat themselves.

Importing this package does nothing. :func:`register` makes the task, models and criteria known to
fairseq; `fairseq-* --user-dir` calls it by importing `tasks/`, and the `wfe-*` commands call it themselves.
"""

__version__ = "0.2.0"  # the only place

_registered = False


def register() -> None:
    """Register everything with fairseq and apply `fairseq_fixes`. Calling it again does nothing.

    Call it yourself where `wfe_plugin` is imported before fairseq sees `--user-dir`: fairseq skips
    a user directory that is already imported.
    """
    global _registered
    if _registered:
        return
    _registered = True
    try:
        _import_all()
    except BaseException:
        _registered = False
        raise


def _import_all() -> None:
    import importlib
    import logging
    import pkgutil

    disabled = logging.root.manager.disable
    logging.disable(logging.INFO)  # advice of fairseq on packages that we do not use
    try:
        fixes = importlib.import_module("wfe_plugin.fairseq_fixes")
        fixes.apply()
        for room in ("models", "criterions", "optim", "tasks"):
            package = importlib.import_module(f"wfe_plugin.{room}")
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{package.__name__}.{module.name}")
    finally:
        logging.disable(disabled)


def __getattr__(name: str):
    if name == "Summarizer":
        register()  # without what fairseq logs when it is imported
        from wfe_plugin.pipeline.summarizer import Summarizer

        return Summarizer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

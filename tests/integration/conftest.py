"""A model for raw text, for the files that have none of their own."""

import pytest

import wfe_plugin


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from helpers.raw_text_model import make_model  # which imports fairseq

    return make_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def summarizer(model):
    return wfe_plugin.Summarizer(model)

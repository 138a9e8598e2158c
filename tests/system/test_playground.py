"""The playground and the page of explanations in a real browser."""

import threading

import pytest

import wfe_plugin
from helpers.browser import CHROMIUM, Browser
from helpers.raw_text_model import TEXTS, make_model

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


@pytest.fixture(scope="module")
def summarizer(tmp_path_factory):
    return wfe_plugin.Summarizer(make_model(tmp_path_factory.mktemp("model")))


@pytest.fixture
def browser(tmp_path):
    with Browser(tmp_path / "profile") as browser:
        yield browser


@pytest.fixture
def address(summarizer):
    from wfe_plugin.pipeline.playground import make_server

    with make_server(summarizer, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


SUMMARY = "(document.querySelector('.summary') || {}).textContent"
IS_SHOWN = "!!document.querySelector('.summary') && !document.querySelector('[aria-busy]')"


def test_playground_on_a_phone_in_the_dark(browser, address, summarizer):
    browser.open(address, width=390, dark=True)
    browser.type("textarea", TEXTS[0])
    browser.wait_for(IS_SHOWN)
    free = summarizer.summarize(TEXTS[0])
    assert browser.evaluate(SUMMARY).split() == free.split()
    assert browser.evaluate("document.querySelectorAll('.source span').length") > 5

    # A click on a word of the summary: it is not said any more.
    word = next(word for word in free.split() if word.isalpha() and len(word) > 1)
    browser.evaluate(f"document.querySelector('.summary [data-word={word}]').click()")
    browser.wait_for(f"document.querySelector('[name=budget]').value === '{word}=0'")
    browser.wait_for(f"{IS_SHOWN} && !{SUMMARY}.split(' ').includes('{word}')")
    assert browser.evaluate(SUMMARY).split() == summarizer.summarize(TEXTS[0], budget=f"{word}=0").split()

    browser.type("[name=budget]", "Zürich=0")
    browser.wait_for("document.querySelector('.error').textContent.includes('cannot be said')")
    browser.type("[name=budget]", "firms=+")
    browser.wait_for(f"{IS_SHOWN} && {SUMMARY}.split(' ').includes('firms')")

    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, background[4:-1].split(","))) < 60
    assert {url for url in browser.requested if not url.startswith("data:")} <= {address, "about:blank"}


def test_page_that_needs_nothing_else(browser, summarizer, tmp_path):
    from wfe_plugin.pipeline.explain import explain
    from wfe_plugin.pipeline.explanation_page import page

    (tmp_path / "why.html").write_text(page(explain(summarizer, TEXTS[:1], max_len_b=30)), encoding="utf-8")
    address = (tmp_path / "why.html").as_uri()
    for width, dark in ((390, True), (1000, False)):
        browser.open(address, width=width, dark=dark)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (min(map(int, background[4:-1].split(","))) > 200) is not dark
        assert browser.evaluate("document.querySelector('.summary').getBoundingClientRect().height") > 10
    assert set(browser.requested) - {"about:blank", "data:,"} == {address}

"""The explanation as a page to play with, for the user of this machine alone."""

from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any
from urllib.parse import parse_qs

from wfe_plugin.errors import UserError
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.pipeline.explain import explain
from wfe_plugin.pipeline.explanation_page import page
from wfe_plugin.pipeline.summarizer import Summarizer

HOST = "127.0.0.1"
LONGEST = 20_000  # characters of a request
DECODINGS = ("auto", "full", "strict", "bound", "gate", "off")
TAKES_BUDGETS = "budget" in DecodingConfig.__dataclass_fields__


def form(text: str = "", beam: str = "5", decoding: str = "auto", budget: str = "", error: str = "") -> str:
    """HTML: what to summarize, and how."""
    choices = "".join(f"<option{' selected' if one == decoding else ''}>{one}</option>" for one in DECODINGS)
    budgets = (
        f'<label>Budgets<input name="budget" value="{escape(budget)}" placeholder="germany=0 pinochet=1 olympics=+">'
        "</label>"
        if TAKES_BUDGETS
        else ""
    )
    return (
        f'<form method="post" action="/"><label>Article<textarea name="text" rows="5" maxlength="{LONGEST // 2}">'
        f'{escape(text)}</textarea></label><div class="fields"><label>Beam<input name="beam" type="number" min="1" '
        f'max="20" value="{escape(beam)}"></label><label>Decoding<select name="decoding">{choices}</select></label>'
        f"{budgets}</div><button>Summarize</button>"
        + (f'<p class="error">{escape(error)}</p>' if error else "")
        + "</form>\n"
    )


def answer(summarizer: Summarizer, fields: dict[str, str]) -> str:
    """The page for what was filled in; a mistake is shown on it."""
    shown = {name: fields.get(name, "") for name in ("text", "budget")}
    shown |= {"beam": fields.get("beam") or "5", "decoding": fields.get("decoding") or "auto"}
    try:
        if not shown["beam"].isdigit() or not 1 <= int(shown["beam"]) <= 20:
            raise UserError("the beam must be a number from 1 to 20")
        if shown["decoding"] not in DECODINGS:
            raise UserError(f"decoding: choose one of {', '.join(DECODINGS)}")
        options: dict[str, Any] = {"budget": shown["budget"]} if shown["budget"] and TAKES_BUDGETS else {}
        texts = [" ".join(shown["text"].split())] if shown["text"].strip() else []
        found = explain(summarizer, texts, int(shown["beam"]), shown["decoding"], **options)
    except UserError as error:
        return page([], form(**shown, error=str(error)))
    return page(found, form(**shown))


def make_server(summarizer: Summarizer, port: int) -> ThreadingHTTPServer:
    """A server that answers on this machine only and stores nothing. Port 0: any free one."""
    lock = Lock()  # models search for one text at a time

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/":
                return self.send_error(404)
            self.reply(page([], form()))

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not length.isdigit() or int(length) > 6 * LONGEST:  # a character may be sent as six
                return self.send_error(413)
            sent = parse_qs(self.rfile.read(int(length)).decode("utf-8", "replace"), keep_blank_values=True)
            with lock:
                self.reply(answer(summarizer, {name: values[0][:LONGEST] for name, values in sent.items()}))

        def reply(self, document: str) -> None:
            # Another site's page must not ask through this browser, under a name of its own.
            if self.headers.get("Host", "").split(":")[0] not in (HOST, "localhost"):
                return self.send_error(403)
            content = document.encode("utf-8")
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Nothing: what people type is theirs."""

    return ThreadingHTTPServer((HOST, port), Handler)

"""The explanation as a page to play with, for the user of this machine alone."""

from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any
from urllib.parse import parse_qs

from wfe_plugin.errors import UserError
from wfe_plugin.pipeline.explain import explain
from wfe_plugin.pipeline.explanation_page import page
from wfe_plugin.pipeline.summarizer import Summarizer

HOST = "127.0.0.1"
LONGEST = 20_000  # characters of a request
DECODINGS = ("auto", "full", "strict", "bound", "gate", "off")
# Answers come without leaving the page. A click on a word of a summary changes its budget: never, at most once,
# must appear, free.
SCRIPT = """<script>
const form = document.querySelector("form"), main = document.querySelector("main");
let timer, asked = 0;
async function ask() {
  const mine = ++asked;
  main.setAttribute("aria-busy", "true");
  const reply = await fetch("/", {method: "POST", body: new URLSearchParams(new FormData(form))});
  const found = new DOMParser().parseFromString(await reply.text(), "text/html");
  if (mine !== asked) return;
  main.innerHTML = found.querySelector("main").innerHTML;
  form.querySelector(".error").textContent = found.querySelector(".error").textContent;
  main.removeAttribute("aria-busy");
}
form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 400); });
form.addEventListener("submit", event => { event.preventDefault(); ask(); });
main.addEventListener("click", event => {
  const word = event.target.dataset.word, next = {"": "0", "0": "1", "1": "+", "+": ""};
  if (!word) return;
  const parts = form.budget.value.split(/\\s+/).filter(part => part);
  const old = parts.find(part => part.slice(0, part.lastIndexOf("=")) === word) || "";
  const value = next[old.slice(word.length + 1)] ?? "";
  form.budget.value = [...parts.filter(part => part !== old), ...(value ? [word + "=" + value] : [])].join(" ");
  ask();
});
</script>"""


def form(text: str = "", beam: str = "5", decoding: str = "auto", budget: str = "", error: str = "") -> str:
    """HTML: what to summarize, and how."""
    choices = "".join(f"<option{' selected' if one == decoding else ''}>{one}</option>" for one in DECODINGS)
    return (
        f'<form method="post" action="/"><label>Article<textarea name="text" rows="5" maxlength="{LONGEST // 2}">'
        f'{escape(text)}</textarea></label><div class="fields"><label>Beam<input name="beam" type="number" min="1" '
        f'max="20" value="{escape(beam)}"></label><label>Decoding<select name="decoding">{choices}</select></label>'
        f'<label>Budgets (or click on a word of a summary)<input name="budget" value="{escape(budget)}" '
        'placeholder="germany=0 pinochet=1 olympics=+" autocapitalize="off" spellcheck="false"></label></div>'
        f'<button>Summarize</button><p class="error" role="alert">{escape(error)}</p></form>\n'
    )


def answer(summarizer: Summarizer, fields: dict[str, str]) -> str:
    """The page for what was filled in; a mistake is shown on it."""
    shown = {name: fields.get(name, "") for name in ("text", "budget")}
    shown |= {"beam": fields.get("beam") or "5", "decoding": fields.get("decoding") or "auto"}
    try:
        if not shown["beam"].isdecimal() or not 1 <= int(shown["beam"]) <= 20:
            raise UserError("the beam must be a number from 1 to 20")
        if shown["decoding"] not in DECODINGS:
            raise UserError(f"decoding: choose one of {', '.join(DECODINGS)}")
        texts = [" ".join(shown["text"].split())] if shown["text"].strip() else []
        found = explain(summarizer, texts, int(shown["beam"]), shown["decoding"], shown["budget"])
    except UserError as error:
        return page([], form(**shown, error=str(error)), SCRIPT)
    return page(found, form(**shown), SCRIPT)


def make_server(summarizer: Summarizer, port: int) -> ThreadingHTTPServer:
    """A server that answers on this machine only and stores nothing. Port 0: any free one."""
    lock = Lock()  # models search for one text at a time

    class Handler(BaseHTTPRequestHandler):
        timeout = 60  # seconds for a client that sends nothing

        def do_GET(self) -> None:
            if self.path != "/":
                return self.send_error(404)
            if self.is_from_here():
                self.reply(page([], form(), SCRIPT))

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or int(length) > 6 * LONGEST:  # a character may be sent as six
                return self.send_error(413)
            if not self.is_from_here():
                return
            sent = parse_qs(self.rfile.read(int(length)).decode("utf-8", "replace"), keep_blank_values=True)
            with lock:
                self.reply(answer(summarizer, {name: values[0][:LONGEST] for name, values in sent.items()}))

        def is_from_here(self) -> bool:
            """Another site's page must not ask through this browser, under a name of its own."""
            origin = self.headers.get("Origin", "").removeprefix("http://")
            names = [self.headers.get("Host", ""), *([origin] if origin else [])]
            if all(name.split(":")[0] in (HOST, "localhost") for name in names):
                return True
            self.send_error(403)
            return False

        def reply(self, document: str) -> None:
            content = document.encode("utf-8")
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Nothing: what people type is theirs."""

    return ThreadingHTTPServer((HOST, port), Handler)

"""The look of the HTML report: first for a phone, wider where there is room."""

STYLE = """\
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1c2126; --soft: #5b6570; --line: #d5dae0; --panel: #f4f6f8;
  --link: #0b57a4; --good: #1a7038; --bad: #b3261e; --mark: #ffe29a; --mark-ink: #3d2c00;
  --s0: #5b6570; --s1: #1f66b0; --s2: #c4500c; --s3: #2d7d46; --s4: #8347a8; --s5: #a8871a;
  --heat: 31, 102, 176; --votes: 214 128 0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181c; --ink: #e4e8ec; --soft: #9aa5b1; --line: #353d46; --panel: #1e242a;
    --link: #82b8f0; --good: #6fcf8b; --bad: #ff8a80; --mark: #6b4e00; --mark-ink: #ffedc2;
    --s0: #9aa5b1; --s1: #6cb0f5; --s2: #ff9a5a; --s3: #74cf90; --s4: #cd9bee; --s5: #e3c55c;
    --heat: 108, 176, 245; --votes: 255 176 60;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1rem; max-width: 60rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word;
}
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0.5rem 0; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 0.6rem; padding-top: 0.6rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.4rem 0 0.4rem; }
p { margin: 0.6rem 0; max-width: 46rem; }
a { color: var(--link); }
.subtitle, .notes, figcaption, summary { color: var(--soft); }
.notes, summary { font-size: 0.85rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; list-style: none; margin: 0.8rem 0; padding: 0; }
nav a { display: inline-block; padding: 0.2rem 0; }
figure { margin: 1rem 0; min-width: 0; }
figcaption { font-size: 0.95rem; margin-bottom: 0.4rem; }
summary { cursor: pointer; padding: 0.3rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 0; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.35rem; text-align: right; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 500; }
thead th { color: var(--soft); vertical-align: bottom; }
th:first-child { text-align: left; padding-left: 0; position: sticky; left: 0; background: var(--paper); }
/* Long names of systems leave room for the numbers beside them. */
tbody th:first-child:not([colspan]) { max-width: 9.5rem; }
tr.group th { font-weight: 650; padding-top: 0.7rem; }
.detail { display: block; font-size: 0.8rem; color: var(--soft); white-space: nowrap; }
.sign { display: inline-block; width: 0; }
td:last-child { padding-right: 0.5rem; }
.detail.good { color: var(--good); }
.detail.bad { color: var(--bad); }
.pictures { display: grid; gap: 0 2rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); }
svg { display: block; width: 100%; max-width: 30rem; height: auto; font: 12px system-ui, sans-serif; }
/* The halo keeps text readable where it crosses lines. */
svg text { fill: var(--ink); stroke: var(--paper); stroke-width: 3px; paint-order: stroke; }
svg .plain text { stroke: none; }
svg .soft { fill: var(--soft); }
svg .grid { stroke: var(--line); }
svg .axis { stroke: var(--soft); }
.example { background: var(--panel); border-radius: 0.4rem; padding: 0.6rem 0.9rem; margin: 0.6rem 0; }
dl { margin: 0; }
dt { color: var(--soft); font-size: 0.8rem; }
dd { margin: 0 0 0.4rem; }
mark { background: var(--mark); color: var(--mark-ink); border-radius: 0.2rem; padding: 0 0.15em; }
mark { text-decoration: underline; }
.source { color: var(--soft); }
.warning { border: 1px solid var(--bad); border-left-width: 0.4rem; padding: 0.5rem 0.8rem; border-radius: 0.3rem; }
details ul { padding-left: 1.2rem; font-size: 0.85rem; }
pre { overflow-x: auto; background: var(--panel); padding: 0.8rem; border-radius: 0.4rem; font-size: 0.8rem; }
@media (min-width: 40rem) {
  body { padding: 1.5rem 2rem; }
  th, td { padding: 0.3rem 0.6rem; }
  tbody th:first-child:not([colspan]) { max-width: none; }
  dl { display: grid; grid-template-columns: 9rem 1fr; gap: 0 0.8rem; }
  dt { padding-top: 0.2em; }
}
@media print { nav { display: none; } }
"""

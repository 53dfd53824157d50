"""The page on which a person labels pairs of records: one file, which loads nothing and sends nothing. Its button saves
the table of pairs with the labels, which `data.labels` reads."""

import json

from splitmerge_cli.analysis.pages import html
from splitmerge_cli.analysis.pages.html import Markup, element, paragraph
from splitmerge_cli.extras import pandas as pd

SAVED = "labels.csv"
"""Name under which a browser saves the labels."""
_STYLE = """
#pair td, #pair th { font-size: 1rem; width: 40%; } #pair th:first-child { width: 20%; }
#pair .same { color: var(--soft); } #pair mark { background: #ffe08a; color: #1d1d1b; }
button { font: inherit; padding: .5rem 1rem; margin: 0 .5rem .5rem 0; border: 1px solid var(--rule); border-radius: 4px;
         background: var(--code); color: var(--ink); cursor: pointer; }
button[aria-pressed=true] { outline: 3px solid var(--yes); } kbd { color: var(--soft); font-size: .8em; }
#bar { height: .4rem; background: var(--code); } #bar div { height: 100%; background: var(--yes); width: 0; }
"""
_SCRIPT = """
const rows = data.rows, fields = data.fields, at = 4;
let place = Math.max(rows.findIndex(row => row[2] === ""), 0), saved = true;
const skipped = new Set(), byId = id => document.getElementById(id);

function add(parent, tag, text, kind) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) made.className = kind;
  parent.append(made);
  return made;
}
function cell(row, text, other) {
  const made = document.createElement("td");
  row.append(made);
  if (text === "") { add(made, "span", "\\u2013", "same"); return; }
  if (other === "" || text === other) { add(made, "span", text, text === other ? "same" : ""); return; }
  let a = 0, z = 0;
  while (a < text.length && a < other.length && text[a] === other[a]) a += 1;
  while (z < text.length - a && z < other.length - a && text.at(-1 - z) === other.at(-1 - z)) z += 1;
  add(made, "span", text.slice(0, a));
  add(made, "mark", text.slice(a, text.length - z) || "\\u2038");
  add(made, "span", text.slice(text.length - z));
}
function show() {
  const body = byId("fields"), row = rows[Math.min(place, rows.length - 1)], done = place >= rows.length;
  const count = word => rows.filter(each => each[2] === word).length;
  body.replaceChildren();
  byId("pair").hidden = done;
  byId("one").textContent = "row " + row[0];
  byId("other").textContent = "row " + row[1];
  fields.forEach((name, f) => {
    const line = document.createElement("tr"), one = row[at + 2 * f], other = row[at + 1 + 2 * f];
    add(line, "th", name);
    cell(line, one, other);
    cell(line, other, one);
    body.append(line);
  });
  const found = row[3] === "" ? "" : ", probability " + Number(row[3]).toFixed(2);
  byId("place").textContent = done ? "Every pair was shown" : "Pair " + (place + 1) + " of " + rows.length + found;
  byId("count").textContent = "Match: " + count("1") + ", no match: " + count("0") + ", open: " + count("") +
    (saved ? "" : "; not saved yet");
  byId("bar").firstElementChild.style.width = 100 * (rows.length - count("")) / rows.length + "%";
  byId("match").setAttribute("aria-pressed", String(!done && row[2] === "1"));
  byId("apart").setAttribute("aria-pressed", String(!done && row[2] === "0"));
}
function label(word) {
  if (place >= rows.length) return;
  if (rows[place][2] !== word) saved = false;
  rows[place][2] = word;
  go(1);
}
function go(step) {
  place = Math.min(Math.max(place + step, 0), rows.length);
  show();
}
function csv() {
  const quote = text => /[",\\r\\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  return [data.head, ...rows].map(row => row.map(quote).join(",") + "\\n").join("");
}
function save() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv()], {type: "text/csv"}));
  link.download = data.file;
  link.click();
  URL.revokeObjectURL(link.href);
  saved = true;
  show();
}
const acts = {match: () => label("1"), apart: () => label("0"), skip: () => label(""), back: () => go(-1), save};
const keys = {m: "match", n: "apart", s: "skip", b: "back", d: "save"};
for (const name of Object.keys(acts)) byId(name).addEventListener("click", acts[name]);
document.addEventListener("keydown", event => {
  const name = keys[event.key.toLowerCase()];
  if (!name || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  acts[name]();
});
window.addEventListener("beforeunload", event => { if (!saved) event.preventDefault(); });
show();
"""
_BUTTONS = (
    ("match", "Match", "m"),
    ("apart", "No match", "n"),
    ("skip", "Skip", "s"),
    ("back", "Back", "b"),
    ("save", "Save the file", "d"),
)
"""Buttons: their names, texts and keys."""


def page_of_pairs(table: "pd.DataFrame", title: str) -> str:
    """The page for a table of pairs as `splitmerge_cli.kinds.records.entities.list_review` gives it, which has a row at
    least: row, other, same, probability, then every field twice."""
    rows = [["" if cell != cell else f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row]
            for row in table.itertuples(index=False, name=None)]  # fmt: skip
    head = [str(name) for name in table]
    held = {"head": head, "fields": head[4::2], "rows": rows, "file": SAVED}
    # no text of a cell may end the script
    data = json.dumps(held).replace("<", "\\u003c")
    buttons = html.join(
        element(
            "button", html.join([text, " ", element("kbd", key)]), id=name, type="button", **{"aria-pressed": "false"}
        )
        for name, text, key in _BUTTONS
    )
    heads = element(
        "tr", html.join([element("th", "field"), element("th", "", id="one"), element("th", "", id="other")])
    )
    pair = html.join([element("thead", heads), element("tbody", "", id="fields")])
    return html.page(
        title,
        [
            element("style", Markup(_STYLE)),
            element("h1", title),
            paragraph("Do the two records describe the same entity? The pairs that change the answer most come first."),
            element("div", Markup("<div></div>"), id="bar"),
            element("h2", "", id="place"),
            element("table", pair, id="pair"),
            element("p", buttons),
            element("p", "", "soft", id="count"),
            paragraph(html.with_code(f"The next run reads the saved file with `data.labels={SAVED}`."), "soft"),
            element("script", Markup(f"const data = {data};{_SCRIPT}")),
        ],
    )

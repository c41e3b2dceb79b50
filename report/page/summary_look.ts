// SPDX-License-Identifier: MIT
//
// What to look at: the hottest lines, each with its source and the lines around it.
import { Side } from "./core";
import type { Snippet } from "./api";
import type { App } from "./app";
import { base, button, clip, h, percent } from "./element";
import { whyBar } from "./why";
import { coloured, dedent, languageOf, lex } from "./syntax";

const LINES = 5, MANY = 100000; // functions above which lines are counted on request

// `most`: the cost of the hottest line.
function card(app: App, s: Snippet, most: number): HTMLElement {
  const texts = dedent(s.lines.map((l) => l.text)), total = app.total(app.event, Side.New), share = percent(s.value.approx, total);
  const table = h("table", { class: "snippet", "aria-label": base(s.file) + ":" + s.line });
  const language = languageOf(s.file);
  s.lines.forEach((l, i) => {
    const code = h("code", { class: "text" }, ...coloured(lex(clip(texts[i] ?? ""), "", language).pieces)), v = l.value?.approx ?? 0;
    if (v > 0) {
      code.classList.add("heat");
      code.style.setProperty("--heat", String(Math.sqrt(Math.min(1, v / most))));
    }
    table.append(h("tr", { class: l.line === s.line ? "here" : null }, h("td", { class: "num" }, v > 0 ? percent(v, total) : null),
      h("td", { class: "num line" }, String(l.line)), h("td", { class: "name" }, code)));
  });
  const known = s.lines.some((l) => l.text !== null);
  return h("div", { class: "card" }, h("p", {}, h("b", {}, share), " ",
    h("a", { class: "main", href: app.href({ v: "source", w: s.file, l: String(s.line), f: s.func?.hash ?? "" }), title: s.file + ":" + s.line },
      h("bdi", {}, clip(base(s.file)) + ":" + s.line)), s.func ? h("span", { class: "where" }, "in ", app.link(s.func)) : null),
    s.why.length ? whyBar(app, s.why, "Estimated cycles of " + base(s.file) + ":" + s.line) : null,
    known ? table : h("p", { class: "note" }, "its source is not in this report"));
}

export async function lookSection(app: App): Promise<HTMLElement | null> {
  if (!(app.summary.has & 1) || app.summary.events[app.event]!.ratio) return null;
  const section = h("section", {}, h("h2", {}, "What to look at: the hottest lines"));
  const fill = async (): Promise<void> => {
    const all = await app.client.ask("snippets", app.event, LINES);
    section.replaceChildren(section.firstElementChild!, ...all.map((s) => card(app, s, all[0]!.value.approx)),
      all.length ? h("p", {}, h("a", { href: app.href({ v: "lines" }) }, "All lines")) : h("p", { class: "note" }, "No line has a cost."));
  };
  if (app.summary.funcs > MANY) section.append(button("Find them", () => void fill()));
  else await fill();
  return section;
}

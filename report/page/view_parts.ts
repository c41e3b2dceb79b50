// SPDX-License-Identifier: MIT
//
// Parts and threads of the profile, in their order: what is selected alone counts, everywhere.
import type { App, Shown, View } from "./app";
import { button, h, number, percent, wide } from "./element";
import { sideNames } from "./app";

async function show(app: App): Promise<Shown> {
  const { parts } = app.summary, chosen = new Set(app.state.p ? app.state.p.split(".").map(Number) : parts.map((_,
    i) => i));
  const info = app.summary.events[app.event]!, event = info.formula ? 0 : app.event;
  const totals = await app.client.ask("partTotals", event);
  const most = totals.reduce((all, v) => Math.max(all, v.approx), 0), sum = [0, 1].map((side) =>
    totals.reduce((all, v, i) => all + (parts[i]!.side === side ? v.approx : 0), 0));
  const apply = (): void => {
    const list = [...chosen].sort((a, b) => a - b);
    app.set({ p: list.length === parts.length || !list.length ? "" : list.join(".") });
  };
  const body = h("tbody");
  parts.forEach((part, i) => {
    const tick = h("input", { type: "checkbox", "aria-label": "Part " + (i + 1) + " counts" });
    tick.checked = chosen.has(i);
    tick.addEventListener("change", () => {
      if (tick.checked) chosen.add(i);
      else chosen.delete(i);
    });
    const bar = h("span", { class: "partbar", "aria-hidden": "true" });
    bar.style.setProperty("--part", String(most ? Math.max(0, totals[i]!.approx / most) : 0));
    body.append(h("tr", { "data-row": i }, h("td", {}, tick), h("td", { class: "num" }, String(i + 1)),
      app.base ? h("td", { class: "name" }, sideNames[part.side]!) : null,
      h("td", { class: "num" }, part.part === null ? "" : String(part.part)),
        h("td", { class: "num" }, part.thread === null ? "" : String(part.thread)),
      h("td", { class: "num" }, part.pid === null ? "" : String(part.pid)),
      h("td", { class: "num", "data-q": ["part", event, part.side, i].join(":") }, number(totals[i], app.scale(event))),
      h("td", { class: "num" }, percent(totals[i]!.approx, sum[part.side]!)), h("td", {}, bar),
      h("td", { class: "name" }, h("bdi", {}, part.descs.join("; ") || part.cmd))));
  });
  const heads = ["Counts", "#", ...(app.base ? ["Side"] : []), "Part", "Thread", "Process", app.eventName(event), "%",
    "", "What"];
  const threads = [...new Set(parts.map((part) => part.thread))].filter((t) => t !== null);
  const element = h("div", {}, h("h2", {}, "Parts"), h("p", { class: "note" },
    "What is selected alone counts, in every view."),
    h("div", { class: "bar" }, button("Apply", apply), button("All", () => app.set({ p: "" })),
      ...(threads.length > 1 ? threads.slice(0, 20).map((t) => button("Thread " + t, () => app.set({
        p: parts.flatMap((part, i) => part.thread === t ? [i] : []).join("."),
      }))) : [])),
    wide(h("table", { id: "quern-parts" }, h("thead", {}, h("tr", {},
      ...heads.map((text) => h("th", { scope: "col" }, text)))), body)));
  return { element };
}

export const partsView: View = { key: "parts", title: "Parts", when: (app) => app.ready &&
  app.summary.parts.length > (app.base ? 2 : 1), show };

// SPDX-License-Identifier: MIT
//
// Parts and threads of the profile, in their order: every view counts the selected ones only.
import type { Value } from "./core";
import type { App, Shown, View } from "./app";
import { withoutCurve } from "./curve";
import { button, h, number, percent, wide } from "./element";
import { sideNames } from "./app";
import { csvOf } from "./table";

const BARS = 2000; // in the time line

// A row for each thread, a column for each part, in their order; the height of a bar is its cost. Each is a button that selects
// or deselects the part.
function timeLine(app: App, totals: Value[], chosen: Set<number>, event: number): HTMLElement | null {
  const { parts } = app.summary, lanes = new Map<string, number[]>();
  if (parts.length > BARS) return null;
  parts.forEach((part, i) => {
    const lane = [app.base ? sideNames[part.side]! : "", part.pid === null ? "" : "process " + part.pid,
      part.thread === null ? "" : "thread " + part.thread].filter(Boolean).join(", ") || "parts";
    lanes.set(lane, [...lanes.get(lane) ?? [], i]);
  });
  const most = totals.reduce((all, v) => Math.max(all, v.approx), 0);
  const numbers = [...new Set(parts.map((part) => part.part))].sort((a, b) => Number((a ?? 0n) - (b ?? 0n)));
  // Parts without a number, or with the same number in one row, are in sequence.
  const place = (lane: number[], i: number): number => {
    const own = lane.map((k) => parts[k]!.part);
    return new Set(own).size === own.length && !own.includes(null) ? numbers.indexOf(parts[i]!.part) : lane.indexOf(i);
  };
  const rows = [...lanes].map(([name, lane]) => {
    const row = h("div", { class: "lane" });
    for (const i of lane) {
      const text = "part " + (parts[i]!.part ?? i + 1) + " of " + name + ", " + number(totals[i], app.scale(event)) + " " +
        app.eventName(event);
      const bar = button("", () => {
        const next = new Set(chosen);
        if (!next.delete(i)) next.add(i);
        const list = [...next].sort((a, b) => a - b);
        app.set({ p: list.length === parts.length || !list.length ? "" : list.join(".") });
      }, { class: "partbox", "aria-pressed": String(chosen.has(i)), "aria-label": text, title: text, "data-part": i });
      bar.style.gridColumn = String(place(lane, i) + 1);
      bar.style.setProperty("--part", String(most ? Math.max(0, totals[i]!.approx / most) : 0));
      row.append(bar);
    }
    return h("div", {}, h("div", { class: "where" }, name), row);
  });
  return wide(h("div", { class: "timeline", role: "group", "aria-label": "Time line: select the parts to count" }, ...rows));
}

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
      h("td", { class: "num" }, percent(totals[i]!.approx, sum[part.side]!)), h("td", { class: "name" }, bar),
      h("td", { class: "name" }, h("bdi", {}, withoutCurve(part.descs).join("; ") || part.cmd))));
  });
  const heads = ["Counts", "#", ...(app.base ? ["Side"] : []), "Part", "Thread", "Process", app.eventName(event), "%",
    "Bar", "What"];
  const threads = [...new Set(parts.map((part) => part.thread))].filter((t) => t !== null);
  const table = h("table", { id: "quern-parts", "aria-label": "Parts" }, h("thead", {}, h("tr", {},
    ...heads.map((text) => h("th", { scope: "col", class: text === "Bar" || text === "What" ? "name" : null }, text)))), body);
  const element = h("div", {}, h("h2", {}, "Parts"), h("p", { class: "note" },
    "Every view counts the selected parts only."),
    h("div", { class: "bar" }, button("Apply", apply), button("All", () => app.set({ p: "" })),
      ...(threads.length > 1 ? threads.slice(0, 20).map((t) => button("Thread " + t, () => app.set({
        p: parts.flatMap((part, i) => part.thread === t ? [i] : []).join("."),
      }))) : [])),
    timeLine(app, totals, chosen, event),
    h("p", {}, csvOf(table, "parts")), wide(table));
  return { element };
}

export const partsView: View = { key: "parts", title: "Parts", when: (app) => app.ready &&
  app.summary.parts.length > (app.base ? 2 : 1), show };

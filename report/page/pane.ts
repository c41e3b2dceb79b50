// SPDX-License-Identifier: MIT
//
// The list of functions beside a view of one of them, where the page is wide: the order and the search of Functions, one
// selection for both.
import { NONE, Of, Side } from "./core";
import type { Order } from "./api";
import { funcOf } from "./app";
import type { App, View } from "./app";
import { button, h } from "./element";
import { Table } from "./table";

const WIDE = "(min-width: 70rem)"; // as in style.css
const beside = ["function", "source", "assembly", "graph"]; // views of a function

export class Pane {
  readonly element = h("aside", { "aria-label": "Functions", hidden: true });
  private table: Table | null = null;
  private made = "";
  private of: App["summary"] | null = null;
  private order = new Uint32Array(0);
  private self: boolean | null = null; // by self cost; null: not chosen
  private turn = 0;
  private selected = NONE;

  // Is it shown beside this view?
  static beside(view: string): boolean { return beside.includes(view) && matchMedia(WIDE).matches; }

  focus(): void { this.table?.focus(); }

  private by(app: App): Order & { of: Of } {
    const self = this.self ?? !app.calls;
    return { of: self ? Of.Self : Of.Inclusive, event: app.event, side: Side.New, descending: true };
  }

  // The address of the same view, to which a link adds another function.
  private change(app: App, view: View): Parameters<App["href"]>[0] {
    const state = { ...app.state }, graph = view.key === "graph";
    delete state.f;
    return { ...state, v: view.key, w: "", z: "", k: graph && state.k === "all" ? "" : state.k ?? "",
      l: graph ? state.l ?? "" : "" };
  }

  async show(app: App, view: View): Promise<void> {
    const turn = ++this.turn;
    this.element.hidden = !beside.includes(view.key);
    this.element.parentElement!.classList.toggle("two", !this.element.hidden);
    if (this.element.hidden || !matchMedia(WIDE).matches) return;
    const by = this.by(app), key = JSON.stringify([app.filter, by, view.key, app.ready, app.state.nm, app.state.y, app.state.k]);
    const func = app.func !== NONE ? app.func : await funcOf(app);
    this.selected = func;
    if (key !== this.made || app.summary !== this.of) await this.fill(app, view, by, turn);
    if (turn !== this.turn) return;
    this.made = key;
    this.of = app.summary;
    await this.select(func);
  }

  private async fill(app: App, view: View, by: Order & { of: Of }, turn: number): Promise<void> {
    const said = h("p", { class: "count", role: "status" });
    let order = new Uint32Array(0);
    try {
      order = await app.client.ask("order", app.filter, by);
      said.textContent = order.length.toLocaleString("en") + (order.length === 1 ? " function" : " functions");
    } catch (e) {
      said.textContent = (e as Error).message;
    }
    if (turn !== this.turn) return;
    const self = by.of === Of.Self, choose = (text: string, is: boolean): HTMLElement => button(text, () => {
      this.self = is;
      void this.show(app, view);
    }, { "aria-pressed": String(self === is) });
    const table = new Table({ label: "Functions", id: "quern-side", box: true, columns: [
      { id: "share", title: (self ? "self " : "incl. ") + "%", tip: "of the program's " + app.eventName(app.event) },
      { id: "name", title: "Function", name: true }] });
    this.order = order;
    this.table = table;
    this.element.replaceChildren(h("div", { class: "bar" }, app.calls ? choose("incl.", false) : null,
      app.calls ? choose("self", true) : null, said), table.element);
    const ratio = app.summary.events[app.event]!.ratio, change = this.change(app, view);
    await table.show({
      count: order.length, load: async (first, count) => {
        const t = await app.client.ask("table", order.slice(first, first + count), [{ of: by.of, event: app.event, side: Side.New }]);
        return t.names.map((name, i) => ({
          cells: [ratio ? app.text(Side.New, [t.values[0]![i]], app.scale(app.event))
            : app.shareOf(t.values[0]![i]!.approx, app.total(app.event, Side.New)), app.link(name, change, true)],
          attributes: { "data-func": name.func, "aria-current": name.func === this.selected ? "true" : undefined },
        }));
      },
    });
  }

  private async select(func: number): Promise<void> {
    this.selected = func;
    const mark = (): HTMLElement | null => {
      let found: HTMLElement | null = null;
      for (const row of this.element.querySelectorAll<HTMLElement>("tbody tr")) {
        const is = row.dataset["func"] === String(func);
        if (is) found = row;
        if (is) row.setAttribute("aria-current", "true");
        else row.removeAttribute("aria-current");
      }
      return found;
    };
    const row = mark(), at = this.order.indexOf(func), box = this.table!.element.getBoundingClientRect();
    const sight = row?.getBoundingClientRect();
    if (at >= 0 && !(sight && sight.top >= box.top && sight.bottom <= box.bottom)) {
      await this.table!.scrollTo(at);
      mark();
    }
  }
}

// SPDX-License-Identifier: MIT
//
// Around the views: title, views, search, events, options, keys.
import { NONE } from "./core";
import type { App, Shown, View } from "./app";
import { button, h } from "./element";
import { Pane } from "./pane";
import { regex } from "./pattern";
import { read } from "./state";
import { views } from "./views";

const keys: [string, string][] = [
  ["/", "search"], ["?", "these keys"], ["1 to 9", "views"], ["arrows, Home, End, Page up, Page down",
    "move in a table or picture"],
  ["Enter", "open"], ["u", "go up to the most expensive caller"], ["c", "go to the callees"],
    ["r", "a cycle as one function, or as its functions"], ["e", "next event"],
  ["n", "in a source: the next hot line"],
  ["t", "switch between picture and table"], ["+ - 0", "zoom"],
  ["f", "focus: only the function, its callers and its callees"], ["h", "hide the function"],
  ["Esc", "undo the last filter"],
];

// Copied text has full names, tabs between cells and line ends between rows.
function copy(e: ClipboardEvent): void {
  const selection = getSelection();
  if (!selection?.rangeCount || !e.clipboardData) return;
  const part = selection.getRangeAt(0).cloneContents();
  if (!part.querySelector("[data-full]")) return;
  for (const name of part.querySelectorAll<HTMLElement>("[data-full]")) name.textContent = name.dataset["full"]!;
  for (const cell of part.querySelectorAll("td:not(:last-child)")) cell.append("\t");
  for (const row of part.querySelectorAll("tr:not(:last-child)")) row.append("\n");
  e.clipboardData.setData("text/plain", part.textContent!);
  e.preventDefault();
}

// Views that a search does not leave: it filters lists, and highlights in pictures.
const lists = ["functions", "compare", "lines", "series", "data"], pictures = ["flame", "treemap", "graph"];

// Texts in the form of the address.
function hiding(texts: string[]): string { return texts.map((text) => text.replace(/~/g, "%7E")).join("~"); }

export class Frame {
  private readonly title = h("a", {});
  private readonly nav = h("nav", { "aria-label": "Views" });
  private readonly search = h("input", {
    type: "search", id: "quern-search", placeholder: "Search ( / )", "aria-label": "Search functions",
      autocomplete: "off",
    spellcheck: "false", title: "Part of a name, or /regular expression/; the prefix file: or object: searches there, a leading ! hides",
  });
  private readonly event = h("select", { id: "quern-event", "aria-label": "Event" });
  private readonly more = h("details", { class: "menu" }, h("summary", {}, "Events"));
  private readonly options = h("details", { class: "menu" }, h("summary", {}, "Options"));
  private readonly chips = h("p", { class: "chips" });
  private readonly status = h("p", { role: "status", class: "status" });
  private readonly main = h("main", { id: "quern-main", tabindex: -1 });
  private readonly header = h("header", {});
  // On a phone: shows and hides search and options.
  private readonly fold = button("⋯", () => this.unfold(!this.header.classList.contains("unfolded")),
    { class: "fold", "aria-label": "Search and options", "aria-expanded": "false" });
  private readonly pane = new Pane();
  private readonly help = h("dialog", { "aria-label": "Keys" });
  private readonly notes = h("section", { "aria-label": "Remarks" });
  private app: App | null = null;
  private view = "";
  private shown: Shown | null = null;

  constructor(private readonly root: HTMLElement) {
    const skip = h("a", { href: "#quern-main", class: "skip" }, "Skip to the content");
    skip.addEventListener("click", (e) => {
      e.preventDefault();
      this.main.focus();
    });
    const header = this.header;
    header.append(skip, h("div", { class: "top" }, h("h1", {}, this.title), this.nav, this.fold),
      h("div", { class: "bar", role: "search" }, this.search,
        button("Focus", () => this.narrow(false), { title: "In every view: only the functions that are found, their callers and their callees" }),
        button("Hide", () => this.narrow(true), { title: "In every view: without the functions that are found" }),
        h("label", {}, "Event ", this.event), this.more,
        this.options,
        button("?", () => this.showHelp(), { "aria-label": "Keys", title: "Keys (?)" })),
      this.chips, this.status);
    const list = h("dl");
    for (const [key, text] of keys) list.append(h("dt", {}, key), h("dd", {}, text));
    this.help.append(h("h2", {}, "Keys"), list, button("Close", () => this.help.close()));
    root.append(header, this.notes, h("div", { class: "panes" }, this.pane.element, this.main), this.help);
    this.search.addEventListener("input", () => this.find(this.search.value));
    this.search.addEventListener("keydown", (e) => {
      if (e.key === "Enter" || e.key === "ArrowDown") {
        e.preventDefault();
        if (Pane.beside(this.view)) this.pane.focus();
        else this.shown?.focus?.();
      }
    });
    this.event.addEventListener("change", () => this.app?.set({ e: this.event.value }));
    document.addEventListener("keydown", (e) => this.key(e));
    document.addEventListener("copy", (e) => copy(e));
    // A menu closes when it loses the focus.
    for (const menu of [this.more, this.options])
      menu.addEventListener("focusout", (e) => {
        if (e.relatedTarget && !menu.contains(e.relatedTarget as Node)) menu.open = false;
      });
  }

  private unfold(open: boolean): void {
    this.header.classList.toggle("unfolded", open);
    this.fold.setAttribute("aria-expanded", String(open));
  }

  say(text: string): void { this.status.textContent = text; }

  private find(text: string): void {
    const app = this.app;
    if (!app) return;
    // Uses the address, not the shown view: of two keys in a row the second may come before the first view is shown.
    const now = read(location.hash);
    if (lists.includes(now.v ?? "") || pictures.includes(now.v ?? "") || Pane.beside(this.view)) app.move({ ...now, q: text }, true);
    else app.go({ v: "functions", q: text });
  }

  // A search becomes a filter of all views, pictures too; Esc removes it.
  private narrow(hide: boolean): void {
    const app = this.app, text = this.search.value;
    if (!app) return;
    if (!text) {
      this.say("Search for a part of a name or a /regular expression/ first.");
      this.search.focus();
      return;
    }
    try {
      regex(text.replace(/^!?((name|file|object):)?/, ""));
    } catch (e) {
      this.say((e as Error).message);
      return;
    }
    this.search.value = "";
    this.say("");
    app.set({ q: "", ...(hide ? { hr: hiding([...app.without, text]) } : { fr: text }) });
  }

  show(app: App, view: View): void {
    const first = this.app?.summary !== app.summary, dark = app.state.m;
    this.app = app;
    this.view = view.key;
    this.root.hidden = false;
    if (dark) document.documentElement.dataset["theme"] = dark;
    else delete document.documentElement.dataset["theme"];
    this.title.textContent = app.summary.title;
    this.title.href = app.href({});
    if (document.activeElement !== this.search) this.search.value = app.state.q ?? "";
    const there = views.filter((v) => v.when(app));
    this.nav.replaceChildren(...there.map((v, i) => h("a", {
      href: app.href(v.key === "summary" ? {} : { v: v.key }), "aria-current": v === view ? "page" : null,
      title: i < 9 ? "Key " + (i + 1) : null,
    }, v.title)));
    if (app.state.q) this.unfold(true);
    // On a phone the current view is in sight.
    const here = this.nav.querySelector<HTMLElement>("[aria-current]");
    if (here) this.nav.scrollLeft = here.offsetLeft - this.nav.offsetLeft - 20;
    const options = app.usable.map((e) => h("option", { value: app.eventKey(e) }, app.eventName(e)));
    this.event.replaceChildren(...options);
    this.event.value = app.eventKey(app.event);
    const which = this.more.open, whichOptions = this.options.open;
    this.more.replaceChildren(this.more.firstElementChild!, this.eventMenu(app));
    this.options.replaceChildren(this.options.firstElementChild!, this.optionMenu(app));
    this.more.open = which;
    this.options.open = whichOptions;
    void this.showChips(app);
    void this.pane.show(app, view).catch((e: Error) => this.say(e.message));
    if (first)
      this.notes.replaceChildren(...[...app.summary.remarks, ...app.summary.leftOut].map((text) => h("p",
        { class: "note" }, text)));
    this.notes.hidden = !this.notes.childElementCount;
  }

  // Puts a view into the page, and the focus there when the view has changed.
  put(shown: Shown, focus: boolean): void {
    this.shown = shown;
    const typing = document.activeElement === this.search;
    this.main.replaceChildren(shown.element);
    if (focus && !typing) this.main.focus({ preventScroll: true });
    if (focus) scrollTo(0, 0);
  }

  private eventMenu(app: App): HTMLElement {
    const box = h("div", { class: "box" }), also = app.events.slice(1);
    for (const e of app.usable) {
      const tick = h("input", { type: "checkbox" });
      tick.checked = app.events.includes(e);
      tick.disabled = e === app.event;
      tick.addEventListener("change", () => {
        const events = tick.checked ? [...also, e] : also.filter((other) => other !== e);
        app.set({ c: events.map((other) => app.eventKey(other)).join("~") });
      });
      const info = app.summary.events[e]!;
      box.append(h("label", {}, tick, " " + info.name, h("span", { class: "where" },
        info.formula ? " = " + info.formula : info.long ? " " + info.long : "")));
    }
    const name = h("input", { type: "text", size: 8, "aria-label": "Name of a new event", placeholder: "name" });
    const formula = h("input", { type: "text", size: 24, "aria-label": "Its formula",
      placeholder: "D1mr / Dr, 10 L1m + Ir" });
    const said = h("span", { role: "alert" });
    const form = h("form", {}, name, " = ", formula, " ", h("button", {}, "Add"), said);
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      const text = formula.value.trim(), called = name.value.trim() || text;
      if (!text || /[=~@]/.test(called)) {
        said.textContent = " needs a formula and a name without = ~ @";
        return;
      }
      void app.client.ask("define", called, text).then((made) => {
        if ("at" in made) {
          said.textContent = " cannot be read from here: " + (text.slice(made.at) || "its end");
          formula.focus();
          formula.setSelectionRange(made.at, text.length);
          return;
        }
        const d = [...(app.state.d ? app.state.d.split("~") : []), called + "=" + text];
        app.set({ d: d.join("~"), e: called });
      });
    });
    box.append(form);
    return box;
  }

  private optionMenu(app: App): HTMLElement {
    const tick = (text: string, on: boolean, change: (on: boolean) => void): HTMLElement => {
      const box = h("input", { type: "checkbox" });
      box.checked = on;
      box.addEventListener("change", () => change(box.checked));
      return h("label", {}, box, " " + text);
    };
    const dark = document.documentElement.dataset["theme"] ?? (matchMedia("(prefers-color-scheme: dark)").matches ?
      "dark" : "light");
    return h("div", { class: "box" },
      app.calls && tick("Cycles are one function", !app.summary.opened, (on) => app.set({ cy: on ? "1" : "0" })),
      tick("Start-up frames", !app.folded, (on) => app.set({ su: on ? "1" : "" })),
      tick("Whole names", app.state.nm === "1", (on) => app.set({ nm: on ? "1" : "" })),
      tick("Dark", dark === "dark", (on) => app.set({ m: on ? "dark" : "light" })),
      tick("Single-letter keys", app.state.n !== "0", (on) => app.set({ n: on ? "" : "0" })));
  }

  // The active filters, each with a button that removes it.
  private async showChips(app: App): Promise<void> {
    const chips: HTMLElement[] = [];
    const add = (text: string, change: Parameters<App["set"]>[0]): void => {
      chips.push(button(text + " ✕", () => app.set(change), { class: "chip", "aria-label": "Undo: " + text }));
    };
    if (app.focus !== NONE) add("focus: " + (await app.client.ask("name", app.focus)).name, { fo: "" });
    const hashes = app.state.hi ? app.state.hi.split(".") : [];
    for (let i = 0; i < app.hidden.length; i++)
      add("hidden: " + (await app.client.ask("name", app.hidden[i]!)).name,
        { hi: hashes.filter((_, k) => k !== i).join(".") });
    if (app.state.fr) add("focus: " + app.state.fr, { fr: "" });
    app.without.forEach((text, i) => add("hidden: " + text, { hr: hiding(app.without.filter((_, k) => k !== i)) }));
    if (app.state.p) add("parts: " + app.state.p.split(".").length + " of " + app.summary.parts.length, { p: "" });
    if (app === this.app) this.chips.replaceChildren(...chips);
  }

  // ---- Keys ----

  private showHelp(): void {
    if (!this.help.open) this.help.showModal();
  }

  private undo(): void {
    const app = this.app!, s = app.state;
    if (this.more.open || this.options.open) {
      this.more.open = this.options.open = false;
    } else if (s.q) {
      this.search.value = "";
      app.set({ q: "" });
    } else if (s.hr) {
      app.set({ hr: hiding(app.without.slice(0, -1)) });
    } else if (s.hi) {
      app.set({ hi: s.hi.split(".").slice(0, -1).join(".") });
    } else if (s.fr) {
      app.set({ fr: "" });
    } else if (s.fo) {
      app.set({ fo: "" });
    } else if (s.p) {
      app.set({ p: "" });
    }
  }

  // The function that a key applies to: that of the focused row or item, else that of the view.
  private get at(): string | undefined {
    const item = document.activeElement?.closest<HTMLElement>("[data-hash]") ??
      document.activeElement?.closest("tr")?.querySelector<HTMLElement>("[data-hash]");
    return item?.dataset["hash"] ?? this.app?.state.f;
  }

  private key(e: KeyboardEvent): void {
    const app = this.app, target = e.target as HTMLElement;
    if (!app || e.altKey || e.ctrlKey || e.metaKey || this.help.open) return;
    if (e.key === "Escape") {
      this.undo();
      return;
    }
    if (target.matches("input:not([type=checkbox]), select, textarea") || app.state.n === "0") return;
    if (this.act(app, e.key)) e.preventDefault();
  }

  // To the most expensive caller or callee, in the same view.
  private async step(app: App, hash: string, callers: boolean): Promise<void> {
    const func = await app.client.ask("find", hash);
    if (func === NONE) return;
    const { rows } = await app.client.ask("neighbours", func, callers, [app.event], app.upTo, 1);
    if (rows[0]) app.set({ f: rows[0].name.hash });
    else this.say(callers ? "It has no callers." : "It has no callees.");
  }

  private act(app: App, key: string): boolean {
    if (/^[1-9]$/.test(key)) {
      const view = views.filter((v) => v.when(app))[Number(key) - 1];
      if (view) app.go(view.key === "summary" ? {} : { v: view.key });
      return !!view;
    }
    if (this.shown?.key?.(key)) return true;
    const at = this.at;
    switch (key) {
      case "/":
        this.unfold(true);
        this.search.focus();
        this.search.select();
        return true;
      case "?":
        this.showHelp();
        return true;
      case "e": {
        const all = app.usable, next = all[(all.indexOf(app.event) + 1) % all.length]!;
        app.set({ e: app.eventKey(next) });
        this.say("Event " + app.eventName(next));
        return true;
      }
      case "f":
        if (at) app.set({ fo: at });
        return !!at;
      case "h":
        if (at) app.set({ hi: [...(app.state.hi ? app.state.hi.split(".") : []), at].join(".") });
        return !!at;
      case "u":
      case "c":
        if (at && app.calls && app.ready) void this.step(app, at, key === "u");
        return !!at;
      case "r":
        app.set({ cy: app.summary.opened ? "1" : "0" });
        return true;
      case "t":
        app.set({ t: app.state.t ? "" : "1" });
        return true;
      default:
        return false;
    }
  }
}

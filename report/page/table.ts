// SPDX-License-Identifier: MIT
//
// Tables of any length. Up to FEW rows are all in the page; longer tables have only the visible ones, in a box that scrolls. Browsers
// limit the height of an element (Firefox: 17.9 million pixels), so above TALL the scroll position is mapped to rows.
import { button, h, save } from "./element";
import type { Child } from "./element";

// For other programs: digits without commas, full names.
function plain(cell: Child): string {
  if (!cell) return "";
  let text = cell as string;
  if (typeof cell !== "string") {
    const copy = cell.cloneNode(true) as HTMLElement;
    for (const name of copy.querySelectorAll<HTMLElement>("[data-full]")) name.textContent = name.dataset["full"]!;
    // File and object are in other columns.
    if (copy.matches?.(".named, .place")) for (const where of copy.querySelectorAll(".where, .tag")) where.remove();
    text = copy.textContent ?? "";
  }
  if (/^[+≈ -]*\d[\d,.]*( %)?$/.test(text)) text = text.replace(/[≈, ]/g, "");
  // Text that a spreadsheet would compute, or take for a command, is quoted; a number with a sign is not.
  const computed = /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/.test(text) && !/^[+-]\d[\d.]*( ?%)?$/.test(text);
  if (computed) text = "'" + text;
  return computed || /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
}

// A complete table, as a file.
export function csvOf(table: HTMLTableElement, name: string): HTMLButtonElement {
  const text = (cell: Node): string => {
    const copy = cell.cloneNode(true) as HTMLElement;
    for (const where of copy.querySelectorAll(".where")) where.remove();
    return plain(copy);
  };
  return button("CSV", () => save(new Blob([[...table.rows].map((row) => [...row.cells].map(text).join()).join("\n") + "\n"],
    { type: "text/csv" }), name + ".csv"), { title: "This table as a file", "aria-label": "CSV: " + name });
}

const MOST_FIXED = 24; // rem
const FEW = 100, TALL = 8e6, ROW = 26, AROUND = 12;

export interface Column {
  id: string; title: string; tip?: string;
  name?: boolean;    // text, not a number
  wide?: number;     // width, rem
  spare?: boolean;   // not shown on a phone
  sort?: string;     // the sort key of its head; absent: not sortable
}
export interface Row {
  cells: Child[];
  attributes?: Record<string, string | number | undefined>;
  of?: string[];      // by cell: the identity of its number (data-q)
}
export interface Rows { count: number; load(first: number, count: number): Promise<Row[]> }
export interface Sorted { id: string; descending: boolean }

export class Table {
  readonly element: HTMLElement;
  private readonly body = h("tbody");
  private readonly table: HTMLTableElement;
  private readonly space: HTMLElement;
  private rows: Rows = { count: 0, load: () => Promise.resolve([]) };
  private loaded: Row[] = []; // from row `first` on
  private first = 0;
  private shown = -1;         // the topmost row in sight
  private turn = 0;
  private active = 0;         // the row whose link is in the tab order

  // By column its distance from the left edge, of those that stay, rem.
  private readonly left: number[] = [];

  constructor(private readonly options: {
    label: string; id?: string; columns: Column[]; sorted?: Sorted | null; onSort?(by: string): void;
    fixed?: boolean; // the first columns, as far as they have a width, stay when the others scroll
    box?: boolean; // scrolls by itself also when it is short
  }) {
    const head = h("tr", { "aria-rowindex": 1 });
    if (options.fixed) this.fix();
    for (const c of options.columns) {
      const is = options.sorted && c.sort === options.sorted.id;
      const th = h("th", {
        scope: "col", class: c.name ? "name" : "num", title: c.tip,
        "aria-sort": is ? (options.sorted!.descending ? "descending" : "ascending") : null,
      });
      if (c.sort && options.onSort) {
        const b = h("button", { type: "button" }, c.title, is ? h("span", { "aria-hidden": "true" },
          options.sorted!.descending ? " ▼" : " ▲") : null);
        b.addEventListener("click", () => options.onSort!(c.sort!));
        th.append(b);
      } else {
        th.append(c.title);
      }
      this.stay(th, head.childElementCount);
      head.append(th);
    }
    this.table = h("table", { "aria-label": options.label, id: options.id }, h("thead", {}, head), this.body);
    // The table sticks to the top of the box, whose height is that of all rows; only visible rows exist.
    this.space = h("div", { class: "space" }, this.table);
    this.element = h("div", { class: options.box ? "scroll box" : "scroll", tabindex: -1 }, this.space);
    new ResizeObserver(() => {
      if (!this.long || this.shown < 0) return;
      this.shown = -2; // the number of rows that fit has changed
      void this.look();
    }).observe(this.element);
    this.element.addEventListener("scroll", () => void this.look(), { passive: true });
    this.element.addEventListener("keydown", (e) => this.key(e));
    this.body.addEventListener("focusin", (e) => {
      const row = (e.target as Element).closest("tr");
      if (row?.dataset["row"]) this.setActive(Number(row.dataset["row"]));
    });
  }

  // Columns stay where they leave most of the table to the others: else only the last of them, the line.
  private fix(): void {
    let at = 0;
    const { columns } = this.options, n = columns.findIndex((c) => !c.wide);
    for (const c of columns.slice(0, n)) at += c.wide!;
    const all = at <= MOST_FIXED, few = matchMedia("(max-width: 40rem)").matches;
    at = 0;
    columns.slice(0, n).forEach((c, i) => {
      if ((few && c.spare) || (!all && i < n - 1)) return;
      this.left[i] = at;
      at += c.wide!;
    });
  }

  private stay(cell: HTMLElement, i: number): void {
    const { wide, spare } = this.options.columns[i]!;
    if (spare) cell.classList.add("spare");
    if (!this.options.fixed || !wide) return;
    cell.style.minWidth = cell.style.width = wide + "rem";
    if (this.left[i] === undefined) return;
    cell.classList.add("stays");
    cell.style.left = this.left[i] + "rem";
  }

  // Shows other rows from the first one on, or (keep) from the current position.
  async show(rows: Rows, keep = false): Promise<void> {
    this.rows = rows;
    this.loaded = [];
    this.shown = -1;
    this.active = keep ? Math.min(this.active, Math.max(0, rows.count - 1)) : 0;
    this.table.setAttribute("aria-rowcount", String(rows.count + 1));
    this.element.classList.toggle("long", this.long);
    this.space.style.height = this.long ? this.height() + "px" : "";
    if (!keep) this.element.scrollTop = 0;
    await this.look();
  }

  private get long(): boolean { return this.rows.count > FEW; }

  private height(): number { return Math.min(TALL, (this.rows.count + 2) * ROW); }

  // Whole rows below the head.
  private visible(): number {
    return Math.max(8, Math.floor(((this.element.clientHeight || 600) - (this.table.tHead!.offsetHeight ||
      ROW)) / ROW));
  }

  // The row at the top, for a scroll position, and the other way round.
  private top(): number {
    const most = Math.max(0, this.rows.count - this.visible()), way = this.height() - this.element.clientHeight;
    return Math.min(most, Math.round(this.element.scrollTop / Math.max(1, way) * most));
  }

  private position(row: number): number {
    const most = Math.max(1, this.rows.count - this.visible());
    return Math.min(1, row / most) * (this.height() - this.element.clientHeight);
  }

  private async look(): Promise<void> {
    const n = this.rows.count, top = this.long ? this.top() : 0,
      end = this.long ? Math.min(n, top + this.visible()) : n;
    if (top === this.shown) return;
    if (this.shown === -1 || top < this.first || end > this.first + this.loaded.length) {
      const first = this.long ? Math.max(0, top - AROUND) : 0, last = this.long ? Math.min(n, end + AROUND) : n;
      const turn = ++this.turn, rows = await this.rows.load(first, last - first);
      if (turn !== this.turn) return; // a newer request replaced this one
      this.loaded = rows;
      this.first = first;
    }
    this.shown = top;
    this.fill(this.loaded.slice(top - this.first, end - this.first), top);
    if (this.long && this.top() !== top) await this.look();
  }

  private fill(rows: Row[], first: number): void {
    const focus = this.body.contains(document.activeElement);
    this.body.replaceChildren(...rows.map((row, i) => {
      const tr = h("tr", { "aria-rowindex": first + i + 2, "data-row": first + i, ...row.attributes });
      row.cells.forEach((cell, k) => {
        const td = h("td", {
          class: this.options.columns[k]?.name ? "name" : "num", "data-q": row.of?.[k] || null,
        });
        if (cell) td.append(cell);
        this.stay(td, k);
        tr.append(td);
      });
      return tr;
    }));
    this.setActive(this.active);
    if (focus) (this.link(this.active) ?? this.element).focus({ preventScroll: true });
  }

  private link(row: number): HTMLElement | null {
    return this.body.querySelector<HTMLElement>('tr[data-row="' + row + '"] .main');
  }

  // One of the links is in the tab order; arrows go to the others.
  private setActive(row: number): void {
    this.active = row;
    let any = false;
    for (const link of this.body.querySelectorAll<HTMLElement>(".main")) {
      const is = link.closest("tr")!.dataset["row"] === String(row);
      any ||= is;
      link.tabIndex = is ? 0 : -1;
    }
    if (!any) {
      const link = this.body.querySelector<HTMLElement>(".main");
      if (link) link.tabIndex = 0;
    }
  }

  // All rows, as a file.
  async csv(name: string): Promise<void> {
    const out = [this.options.columns.map((c) => plain(c.title)).join()], n = this.rows.count;
    for (let first = 0; first < n; first += 2000)
      for (const row of await this.rows.load(first, Math.min(2000, n - first))) out.push(row.cells.map(plain).join());
    save(new Blob([out.join("\n") + "\n"], { type: "text/csv" }), name + ".csv");
  }

  csvButton(name: string): HTMLButtonElement { return button("CSV", () => void this.csv(name),
    { title: "All these rows as a file", "aria-label": "CSV: " + name }); }

  focus(): void { this.link(this.active)?.focus(); }

  private async move(to: number): Promise<void> {
    const row = Math.max(0, Math.min(this.rows.count - 1, to)), page = this.visible();
    this.active = row;
    if (this.long && (row < this.shown || row > this.shown + page - 1)) {
      this.element.scrollTop = this.position(row < this.shown ? row : row - page + 1);
      await this.look();
    }
    this.setActive(row);
    this.link(row)?.focus({ preventScroll: this.long });
  }

  async scrollTo(row: number): Promise<void> {
    if (this.long) {
      this.element.scrollTop = this.position(Math.max(0, row - Math.floor(this.visible() / 3)));
      await this.look();
    } else {
      const tr = this.body.querySelector<HTMLElement>('tr[data-row="' + row + '"]'), box = this.element;
      if (tr && box.scrollHeight > box.clientHeight + 1) box.scrollTop = tr.offsetTop - box.clientHeight / 3;
      else tr?.scrollIntoView({ block: "center" });
    }
    this.setActive(row);
  }

  private key(e: KeyboardEvent): void {
    if (e.altKey || e.ctrlKey || e.metaKey) return;
    const page = this.visible() - 4;
    const to = { ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page,
      PageUp: this.active - page, Home: 0, End: this.rows.count - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    e.stopPropagation();
    void this.move(to);
  }
}

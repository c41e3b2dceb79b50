// SPDX-License-Identifier: MIT
//
// The page: hands core and blocks to the worker as they are parsed, and shows what it answers. Names and sources are set
// as text only.
import { Of, Side } from "./core";
import type { Value } from "./core";
import type { Api, Row, Summary } from "./api";
import type { FromWorker, ToWorker } from "./protocol";

type Result<M extends keyof Api> = ReturnType<Api[M]>;

// ---- Base64 ----

const fromBase64 = (Uint8Array as unknown as { fromBase64?: (s: string) => Uint8Array }).fromBase64;

function decode(text: string): Uint8Array {
  if (fromBase64) return fromBase64.call(Uint8Array, text);
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// ---- The worker ----

class Client {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, { resolve(v: unknown): void; reject(e: Error): void }>();
  private next = 0;

  constructor(code: string, private readonly on: { first(): void; ready(): void; fault(text: string): void }) {
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    this.worker = new Worker(url);
    URL.revokeObjectURL(url);
    this.worker.onmessage = (e): void => this.take(e.data as FromWorker);
    this.worker.onerror = (e): void => on.fault("the report's worker stopped: " + e.message);
  }

  private take(m: FromWorker): void {
    if (m.kind === "answer") {
      const w = this.waiting.get(m.id);
      this.waiting.delete(m.id);
      if (m.error !== undefined) w?.reject(new Error(m.error));
      else w?.resolve(m.result);
    } else if (m.kind === "fault") {
      this.on.fault(m.text);
    } else if (m.kind === "first") {
      this.on.first();
    } else {
      this.on.ready();
    }
  }

  send(m: ToWorker & { bytes: Uint8Array }): void { this.worker.postMessage(m, [m.bytes.buffer]); }

  ask<M extends keyof Api>(method: M, ...args: Parameters<Api[M]>): Promise<Result<M>> {
    return new Promise((resolve, reject) => {
      const id = this.next++;
      this.waiting.set(id, { resolve: resolve as (v: unknown) => void, reject });
      const m: ToWorker = { kind: "ask", id, method, args };
      this.worker.postMessage(m);
    });
  }
}

// ---- Elements ----

function element<K extends keyof HTMLElementTagNameMap>(tag: K, text = "", name = ""): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  if (text) e.textContent = text;
  if (name) e.className = name;
  return e;
}

// Exact where the core says so, with its digits in groups of three.
function number(v: Value, scale: number): string {
  if (v.exact === null) return Number.isNaN(v.approx) ? "–" : "≈ " + v.approx.toPrecision(6);
  const negative = v.exact < 0n, n = negative ? -v.exact : v.exact, unit = BigInt(scale);
  let text = (n / unit).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  if (n % unit) text += "." + (n % unit).toString().padStart(9, "0").replace(/0+$/, "");
  return (negative ? "-" : "") + text;
}

const app = document.getElementById("quern-app")!;

function fault(text: string): void {
  app.hidden = false;
  const p = element("p", text, "fault");
  p.setAttribute("role", "alert");
  app.prepend(p);
}

// ---- What is shown ----

function totals(s: Summary, base: boolean): HTMLElement {
  const table = element("table"), head = table.createTHead().insertRow(), body = table.createTBody();
  table.id = "quern-totals";
  for (const text of base ? ["Event", "Base", "Now", "Difference"] : ["Event", "Total"])
    head.append(element("th", text, text === "Event" ? "name" : ""));
  for (const e of s.events) {
    if (e.total.length === 0) continue;
    const row = body.insertRow();
    row.dataset["event"] = e.name;
    row.append(element("td", e.long ? e.name + " (" + e.long + ")" : e.name, "name"));
    for (const side of base ? [Side.Old, Side.New, Side.Difference] : [Side.New])
      row.append(element("td", number(e.total[side]!, e.scale)));
  }
  return table;
}

function functions(s: Summary, rows: Row[], base: boolean): HTMLElement {
  const table = element("table"), head = table.createTHead().insertRow(), body = table.createTBody();
  const shown = base ? [Side.Old, Side.New, Side.Difference] : [Side.New];
  const names = ["now", "base", "difference"];
  table.id = "quern-functions";
  s.events.forEach((e) => {
    if (e.total.length)
      for (const side of shown)
        for (const what of ["incl.", "self"])
          head.append(element("th", e.name + " " + what + (base ? ", " + names[side] : "")));
  });
  for (const side of shown) head.append(element("th", "Called" + (base ? ", " + names[side] : "")));
  head.append(element("th", "Function", "name"));
  for (const r of rows) {
    const row = body.insertRow();
    s.events.forEach((e, i) => {
      if (e.total.length)
        for (const side of shown)
          row.append(element("td", number(r.inclusive[i]![side]!, e.scale)),
            element("td", number(r.self[i]![side]!, e.scale)));
    });
    for (const side of shown) row.append(element("td", number(r.called[side]!, 1)));
    row.append(element("td", (r.name || "???") + " (" + (r.file || "???") + ")" + (r.object ? " [" + r.object + "]" : ""),
      "name"));
    row.dataset["key"] = JSON.stringify([r.object, r.file, r.name]);
  }
  const div = element("div", "", "scroll");
  div.append(table);
  return div;
}

async function show(client: Client, done: boolean): Promise<void> {
  const s = await client.ask("summary"), base = s.base.length > 0;
  const order = await client.ask("sorted", s.order, Of.Inclusive, Side.New, "", 0);
  const rows = await client.ask("rows", order.slice(0, 200));
  const all: HTMLElement[] = [element("h1", s.title)];
  for (const text of [...s.remarks, ...s.leftOut]) all.push(element("p", text, "note"));
  all.push(element("h2", "Totals"), totals(s, base));
  all.push(element("h2", "Functions: " + rows.length + " of " + s.funcs), functions(s, rows, base));
  app.replaceChildren(...app.querySelectorAll("p.fault"), ...all);
  app.hidden = false;
  document.getElementById("quern-static")!.hidden = true;
  document.body.dataset["state"] = done ? "ready" : "first";
  performance.mark(done ? "quern-ready" : "quern-first");
}

// ---- Reading the file ----

function start(): void {
  const missing = [
    typeof WebAssembly === "undefined" && "WebAssembly", typeof DecompressionStream === "undefined" && "DecompressionStream",
    typeof Worker === "undefined" && "workers", typeof BigInt === "undefined" && "BigInt",
  ].filter(Boolean);
  if (missing.length) {
    fault("This browser is too old for the interactive report: it lacks " + missing.join(", ") +
      ". Chrome 103, Firefox 113 or Safari 16.4 have all of it.");
    return;
  }
  const client: Client = new Client(document.getElementById("quern-worker")!.textContent!, {
    first: () => void show(client, false).catch((e: Error) => fault(e.message)),
    ready: () => void show(client, true).catch((e: Error) => fault(e.message)),
    fault,
  });
  (window as unknown as { quern: unknown }).quern = client; // for tests, and for whoever wants to ask more
  client.send({ kind: "core", bytes: decode(document.getElementById("quern-core")!.textContent!.trim()) });

  let sent = 0;
  const read = (): void => {
    const whole = document.readyState !== "loading";
    for (const e of document.querySelectorAll<HTMLScriptElement>('script[type="application/quern"]')) {
      // The parser may still be adding to the last one.
      if (!whole && !e.nextElementSibling) break;
      const { block, size, crc } = e.dataset;
      try {
        client.send({ kind: "block", index: Number(block), size: Number(size), crc: parseInt(crc!, 16),
          bytes: decode(e.textContent!.trim()) });
      } catch (x) {
        fault("block " + block + " of the report is damaged: " + (x as Error).message);
      }
      sent++;
      e.remove(); // its text is not needed twice
    }
    if (!whole) {
      setTimeout(read, 30);
      return;
    }
    const end = document.getElementById("quern-end");
    if (!end) fault("The file is cut off: it has " + sent + " blocks, and no end.");
    else if (Number(end.dataset["blocks"]) !== sent)
      fault("The file is damaged: it has " + sent + " of " + end.dataset["blocks"] + " blocks.");
  };
  read();
}

try {
  start();
} catch (e) {
  fault("The interactive report does not work here: " + (e as Error).message);
}

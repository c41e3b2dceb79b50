// SPDX-License-Identifier: MIT
//
// The page, after boot.ts has inflated it: passes core and blocks to the worker as they are parsed, and shows the view that the address names. Names
// and sources are set as text only.
import { NONE } from "./core";
import { App } from "./app";
import type { Shown } from "./app";
import type { Summary } from "./api";
import { Client } from "./client";
import { read as readData } from "./data";
import type { Data } from "./data";
import { Drop } from "./drop";
import { decode, fault, inflate, text } from "./file";
import { Frame } from "./frame";
import { forgetZoom, read, write } from "./state";
import type { State } from "./state";
import { viewOf } from "./views";

const MOST = 0.5; // of the program, in a cycle that is opened
const root = document.getElementById("quern-app")!;
const empty = document.getElementById("quern-reader") !== null; // profiles are dropped into the page

// ---- What is shown ----

class Page {
  private summary: Summary | null = null;
  private selected = "|";
  private readonly found = new Map<string, number>(); // functions by hash
  private defined = "";
  private shown: Shown | null = null;
  private key = "";
  private cyclic: Summary["cyclic"] | undefined;
  private plain = "";         // the state of the shown view, without a search
  private app: App | null = null; // that it was made with
  private turn = 0;
  private ready = false;
  private data: Data | null = null; // of the objects, when it is read
  private readonly frame = new Frame(root);

  constructor(private client: Client) {
    addEventListener("hashchange", () => this.look());
  }

  // Another report in the same page.
  take(client: Client): void {
    this.client.stop();
    this.client = client;
    this.selected = "|";
    this.found.clear();
    this.defined = "";
    this.shown = null;
    this.key = "";
    this.cyclic = undefined;
    this.plain = "";
    this.ready = false;
  }

  loaded(ready: boolean, data: Data | null = null): void {
    this.ready = ready;
    this.data = data;
    this.summary = null;
    this.look();
  }

  private look(): void {
    forgetZoom();
    void this.show().catch((e: Error) => fault(e.message));
  }

  private readonly move = (to: State, replace = false): void => {
    const fragment = write(to);
    if (replace) {
      history.replaceState(null, "", fragment);
      this.look();
    } else if (location.hash === fragment) {
      this.look();
    } else {
      location.hash = fragment;
    }
  };

  // State of the worker before the first request: defined events, parts, cycles.
  private async prepare(state: State): Promise<void> {
    this.summary ??= await this.client.ask("summary");
    // A cycle that holds most of the program says nothing about where in it: these views open it by themselves.
    const alone = state.v === "flame" || (state.k === "incl" && (state.v ?? "summary") === "summary");
    // For a million functions that takes a tenth of a second: only these views ask for it.
    if (alone && this.ready && !this.summary.opened && this.cyclic === undefined) this.cyclic = await this.client.ask("cyclic");
    this.summary.cyclic = this.cyclic ?? null;
    const open = state.cy === "0" || (!state.cy && alone && (this.summary.cyclic?.share ?? 0) >= MOST);
    const defined = state.d ?? "", selected = [state.p ?? "", open ? "open" : ""].join("|");
    if (this.ready && selected !== this.selected) {
      const parts = state.p ? state.p.split(".").map(Number) : null;
      const n = this.summary.parts.length;
      await this.client.ask("select", parts ? Array.from({ length: n }, (_, i) => parts.includes(i)) : null,
        !open);
      this.selected = selected;
      this.summary = null;
    }
    if (defined !== this.defined) {
      for (const definition of defined.split("~").filter((text) => !this.defined.split("~").includes(text))) {
        const equals = definition.indexOf("=");
        const made = equals > 0 ? await this.client.ask("define", definition.slice(0, equals),
          definition.slice(equals + 1)) : null;
        if (made && "at" in made) this.frame.say("the formula " + definition + " cannot be read");
      }
      this.defined = defined;
      this.summary = null;
    }
    this.summary ??= await this.client.ask("summary");
    this.summary.cyclic = this.cyclic ?? null;
  }

  private async show(): Promise<void> {
    const turn = ++this.turn, state = read(location.hash);
    await this.prepare(state);
    const find = async (hash: string | undefined): Promise<number> => {
      if (!hash) return NONE;
      const f = this.found.get(hash) ?? (await this.client.ask("find", hash));
      if (this.ready) this.found.set(hash, f);
      return f;
    };
    let func = await find(state.f);
    if (func >= (await this.client.ask("shown"))) func = NONE;
    const focus = await find(state.fo), hidden: number[] = [];
    for (const hash of state.hi ? state.hi.split(".") : []) {
      const f = await find(hash);
      if (f !== NONE) hidden.push(f);
    }
    if (turn !== this.turn) return;
    const app = new App(this.client, this.summary!, state, this.ready, func, focus, hidden, this.move, this.data);
    const view = viewOf(app), key = view.key + "|" + this.ready + "|" + (view.key === "function" ? state.f ?? "" : "");
    const same = this.shown && key === this.key;
    this.frame.show(app, view);
    // The search alone has changed, in a view that is not a list.
    const plain = write({ ...state, q: "" }), search = same && plain === this.plain && !this.shown!.update && view.key !== "lines" && view.key !== "series";
    if (search) {
      this.app!.state.q = state.q ?? "";
      await this.shown!.search?.(app);
    } else if (!(same && await this.shown!.update?.(app))) {
      const next = await view.show(app);
      if (turn !== this.turn) return;
      if (!(same && view.key === "lines")) this.shown?.end?.(); // when the lines view is shown again it reuses them
      this.frame.put(next, !!this.key && view.key !== this.key.split("|")[0]);
      this.shown = next;
      this.key = key;
      next.begin?.();
      if (state.q) await next.search?.(app);
      this.app = app;
    }
    this.plain = plain;
    if (turn !== this.turn) return;
    const done = this.ready ? "ready" : "first";
    if (empty) document.title = this.summary!.title;
    else document.getElementById("quern-static")!.hidden = true;
    document.body.dataset["view"] = location.hash;
    if (document.body.dataset["state"] !== done) performance.mark("quern-" + done);
    document.body.dataset["state"] = done;
  }
}

// ---- A page without a profile ----

async function startEmpty(): Promise<void> {
  const worker = await inflate(decode(text("quern-worker"))), reader = decode(text("quern-reader"));
  let page: Page | null = null;
  document.getElementById("quern-static")!.remove();
  document.body.dataset["state"] = "empty";
  const drop = new Drop(root, document.title, (choice) => new Promise((resolve, reject) => {
    const client: Client = new Client(worker, {
      first: () => undefined, fault: (what) => { reject(new Error(what)); client.stop(); },
      progress: (what) => drop.say(what), refused: (what) => { reject(new Error(what)); client.stop(); },
      ready: () => {
        if (page) page.take(client);
        page ??= new Page(client);
        (window as unknown as { quern: unknown }).quern = client;
        page.loaded(true);
        resolve();
      },
    });
    client.send({ kind: "core", bytes: decode(text("quern-core")) });
    client.read(reader, choice);
  }));
}

// ---- Reading the file ----

async function start(): Promise<void> {
  let page: Page | null = null;
  const client = new Client(await inflate(decode(text("quern-worker"))), {
    first: () => page!.loaded(false), fault,
    // The objects of the data are before the blocks that it waits for.
    ready: () => void readData().catch((e: Error) => fault("The objects of the data in this report are damaged: " + e.message))
      .then((data) => page!.loaded(true, data ?? null)),
  });
  page = new Page(client);
  (window as unknown as { quern: unknown }).quern = client; // for tests, and for scripts in the console
  client.send({ kind: "core", bytes: decode(text("quern-core")) });

  let sent = 0;
  const more = (): void => {
    const whole = document.readyState !== "loading";
    for (const e of document.querySelectorAll<HTMLScriptElement>('script[type="application/quern"]')) {
      // The parser may still be extending the last one.
      if (!whole && !e.nextElementSibling) break;
      const { block, size, crc } = e.dataset;
      try {
        client.send({ kind: "block", index: Number(block), size: Number(size), crc: parseInt(crc!, 16),
          bytes: decode(e.textContent!.trim()) });
      } catch (x) {
        fault("block " + block + " of the report is damaged: " + (x as Error).message);
      }
      sent++;
      e.remove(); // frees its text
    }
    if (!whole) {
      setTimeout(more, 30);
      return;
    }
    client.end();
    const end = document.getElementById("quern-end");
    if (!end) fault("The file is truncated: it has " + sent + " blocks and no end mark.");
    else if (Number(end.dataset["blocks"]) !== sent)
      fault("The file is damaged: it has " + sent + " of " + end.dataset["blocks"] + " blocks.");
  };
  more();
}

(empty ? startEmpty() : start()).catch((e: Error) => fault("The interactive report does not work here: " + e.message));

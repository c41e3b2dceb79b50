// SPDX-License-Identifier: MIT
//
// The worker: owns the core. Takes blocks as the page reads them, loads them, and answers requests. A
// request is a method of Api by name; requests wait for nothing except the core, so the page stays responsive.
import { Core, What } from "./core";
import { Api, early } from "./api";
import { inflate } from "./file";
import type { FromWorker, ToWorker } from "./protocol";
import { Reader } from "./reader";

let api: Api | null = null;
let core: Core | null = null;
let needed: boolean[] = []; // by block: link() waits for it; block 0 says which
let left = 0;               // needed blocks still to come
let more = 0;               // all blocks still to come
let ended = false;          // no further blocks come

const scope = self as unknown as { postMessage(m: FromWorker): void; onmessage: ((e: MessageEvent) => void) | null };

function fault(what: string, e: unknown): void {
  scope.postMessage({ kind: "fault", text: what + ": " + (e instanceof Error ? e.message : String(e)) });
}

function loadBlock(m: ToWorker & { kind: "block" }): void {
  try {
    core!.load(m.bytes, m.size, m.crc);
  } catch (e) {
    fault("block " + m.index + " of the report cannot be used", e);
    return;
  }
  if (m.index === 0) {
    needed = core!.needed();
    more = needed.length;
    left = needed.filter(Boolean).length;
    api = new Api(core!);
    scope.postMessage({ kind: "first" });
  }
  more--;
  if (!needed[m.index] || --left > 0) return;
  try {
    core!.link();
    scope.postMessage({ kind: "ready" });
  } catch (e) {
    fault("the calls of the report cannot be used", e);
  }
}

// Profiles that the user has chosen, in a page without one: read, packed and loaded in one step.
async function read(m: ToWorker & { kind: "read" }): Promise<void> {
  try {
    const names = [...m.choice.files, ...m.choice.base];
    let file = 0;
    const reader = await Reader.open(await inflate(m.reader), (done, total) => scope.postMessage({ kind: "progress",
      text: "Reading " + names[file]!.name + ": " + Math.floor(100 * done / Math.max(1, total)) + " %" }));
    if (m.choice.series) reader.series();
    for (const [side, files] of [m.choice.files, m.choice.base].entries())
      for (const one of files) {
        reader.add(side, one);
        file++;
      }
    for (const block of reader.make()) core!.loadPlain(block);
    core!.link();
    api = new Api(core!);
    scope.postMessage({ kind: "first" });
    scope.postMessage({ kind: "ready" });
  } catch (e) {
    const ended = e instanceof WebAssembly.RuntimeError || e instanceof RangeError;
    scope.postMessage({ kind: "refused", text: ended ? "there is not enough memory" : (e as Error).message });
  }
}

function answer(m: ToWorker & { kind: "ask" }): void {
  try {
    if (!api) throw new Error("the report is not loaded yet");
    if (more > 0 && !early.has(m.method)) throw new Error("the report is damaged: this part is missing");
    const method = api[m.method] as (...args: unknown[]) => unknown;
    scope.postMessage({ kind: "answer", id: m.id, result: method.apply(api, m.args) });
  } catch (e) {
    scope.postMessage({ kind: "answer", id: m.id, error: e instanceof Error ? e.message : String(e) });
  }
}

// In turn: blocks in their order, and requests before the next block, since the first screen needs
// only block 0 and does not wait for the others.
const blocks: (ToWorker & { kind: "core" | "block" | "read" | "end" })[] = [];
const asked: (ToWorker & { kind: "ask" })[] = [];
let waiting: (ToWorker & { kind: "ask" })[] = []; // requests for blocks that are still to come
let busy = false;

// Blocks loaded before the next request while another one waits for all of them: some tens of milliseconds.
const BETWEEN = 16;
let since = 0; // blocks since the last request

// Lets pending messages come in. Not by setTimeout(), which browsers delay by 4 ms when it is nested: for hundreds of blocks
// that would be seconds.
const turns = new MessageChannel(), turn: (() => void)[] = [];
turns.port1.onmessage = (): void => turn.shift()?.();
function pending(): Promise<void> {
  return new Promise((done) => {
    turn.push(done);
    turns.port2.postMessage(null);
  });
}

async function work(): Promise<void> {
  busy = true;
  for (;;) {
    const first = waiting.length > 0 && ++since < BETWEEN;
    const block = asked.length && !first && (api || !blocks.length) ? undefined : blocks.shift();
    if (!block) {
      const ask = asked.shift();
      if (!ask) break;
      since = 0;
      if (api && more > 0 && !ended && !early.has(ask.method)) waiting.push(ask);
      else answer(ask);
    } else if (block.kind === "end") {
      ended = true;
    } else if (block.kind === "core") {
      try {
        core = await Core.open(await inflate(block.bytes));
      } catch (e) {
        fault("this browser cannot run the report's WebAssembly", e);
      }
    } else if (block.kind === "read") {
      if (core) await read(block);
    } else if (core) {
      loadBlock(block);
      await pending();
    }
    if (waiting.length && (ended || more === 0)) {
      asked.push(...waiting);
      waiting = [];
    }
  }
  busy = false;
}

scope.onmessage = (e: MessageEvent): void => {
  const m = e.data as ToWorker;
  if (m.kind === "ask") asked.push(m);
  else blocks.push(m);
  if (!busy) void work();
};

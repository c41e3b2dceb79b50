// SPDX-License-Identifier: MIT
//
// The worker: owns the core. Takes blocks as the page reads them, inflates and loads them, and answers requests. A
// request is a method of Api by name; requests wait for nothing but the core, so the page stays quick.
import { Core, What } from "./core";
import { Api } from "./api";
import type { FromWorker, ToWorker } from "./protocol";

let api: Api | null = null;
let core: Core | null = null;
let left: number | null = null; // blocks still to come, once block 0 said how many there are

const scope = self as unknown as { postMessage(m: FromWorker): void; onmessage: ((e: MessageEvent) => void) | null };

async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function fault(what: string, e: unknown): void {
  scope.postMessage({ kind: "fault", text: what + ": " + (e instanceof Error ? e.message : String(e)) });
}

async function loadBlock(m: ToWorker & { kind: "block" }): Promise<void> {
  let bytes: Uint8Array;
  try {
    bytes = await inflate(m.bytes);
    if (bytes.length !== m.size) throw new Error("it has " + bytes.length + " bytes instead of " + m.size);
    core!.load(bytes, m.crc);
  } catch (e) {
    fault("block " + m.index + " of the report cannot be used", e);
    return;
  }
  if (m.index === 0) {
    left = core!.number(What.Blocks) - 1;
    api = new Api(core!);
    scope.postMessage({ kind: "first" });
  } else if (left !== null) {
    left--;
  }
  if (left === 0) {
    try {
      core!.link();
      scope.postMessage({ kind: "ready" });
    } catch (e) {
      fault("the calls of the report cannot be used", e);
    }
    left = null;
  }
}

function answer(m: ToWorker & { kind: "ask" }): void {
  try {
    if (!api) throw new Error("the report is not loaded yet");
    const method = api[m.method] as (...args: unknown[]) => unknown;
    scope.postMessage({ kind: "answer", id: m.id, result: method.apply(api, m.args) });
  } catch (e) {
    scope.postMessage({ kind: "answer", id: m.id, error: e instanceof Error ? e.message : String(e) });
  }
}

// One at a time, in order: a block is loaded before what was asked after it is answered.
let chain: Promise<void> = Promise.resolve();

async function take(m: ToWorker): Promise<void> {
  if (m.kind === "core") {
    try {
      core = await Core.open(await inflate(m.bytes));
    } catch (e) {
      fault("this browser cannot run the report's WebAssembly", e);
    }
  } else if (!core) {
    if (m.kind === "ask") answer(m);
  } else if (m.kind === "block") {
    await loadBlock(m);
  } else {
    answer(m);
  }
}

scope.onmessage = (e: MessageEvent): void => {
  chain = chain.then(() => take(e.data as ToWorker));
};

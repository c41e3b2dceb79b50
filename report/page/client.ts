// SPDX-License-Identifier: MIT
//
// The page's end of the worker.
import type { Api } from "./api";
import type { Choice } from "./drop";
import type { FromWorker, ToWorker } from "./protocol";

type Result<M extends keyof Api> = ReturnType<Api[M]>;

export class Client {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, { resolve(v: unknown): void; reject(e: Error): void }>();
  private next = 0;

  constructor(code: Uint8Array, private readonly on: { first(): void; ready(): void; fault(text: string): void;
    progress?(text: string): void; refused?(text: string): void }) {
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
    } else if (m.kind === "progress" || m.kind === "refused") {
      this.on[m.kind]?.(m.text);
    } else if (m.kind === "first") {
      this.on.first();
    } else {
      this.on.ready();
    }
  }

  send(m: ToWorker & { bytes: Uint8Array }): void { this.worker.postMessage(m, [m.bytes.buffer]); }

  // Profiles instead of blocks.
  read(reader: Uint8Array, choice: Choice): void {
    const m: ToWorker = { kind: "read", reader, choice };
    this.worker.postMessage(m, [...choice.files, ...choice.base].map((file) => file.bytes.buffer));
  }

  // Sends no further requests; pending ones get no answer.
  stop(): void { this.worker.terminate(); }

  end(): void {
    const m: ToWorker = { kind: "end" };
    this.worker.postMessage(m);
  }

  ask<M extends keyof Api>(method: M, ...args: Parameters<Api[M]>): Promise<Result<M>> {
    return new Promise((resolve, reject) => {
      const id = this.next++;
      this.waiting.set(id, { resolve: resolve as (v: unknown) => void, reject });
      const m: ToWorker = { kind: "ask", id, method, args };
      this.worker.postMessage(m);
    });
  }
}

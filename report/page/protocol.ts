// SPDX-License-Identifier: MIT
//
// What page and worker say to each other.
import type { Api } from "./api";

export type ToWorker =
  | { kind: "core"; bytes: Uint8Array }
  | { kind: "block"; index: number; size: number; crc: number; bytes: Uint8Array }
  | { kind: "end" } // no more blocks come
  | { kind: "ask"; id: number; method: keyof Api; args: unknown[] };

export type FromWorker =
  | { kind: "first" } // block 0 is there: totals and the dearest functions
  | { kind: "ready" } // all functions and calls; lines, sources and code may still be on their way
  | { kind: "fault"; text: string }
  | { kind: "answer"; id: number; result?: unknown; error?: string };

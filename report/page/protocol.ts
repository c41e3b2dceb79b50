// SPDX-License-Identifier: MIT
//
// Messages between page and worker.
import type { Api } from "./api";
import type { Choice } from "./drop";

export type ToWorker =
  | { kind: "core"; bytes: Uint8Array }
  | { kind: "block"; index: number; size: number; crc: number; bytes: Uint8Array }
  | { kind: "read"; reader: Uint8Array; choice: Choice } // in place of blocks
  | { kind: "end" } // no further blocks
  | { kind: "ask"; id: number; method: keyof Api; args: unknown[] };

export type FromWorker =
  | { kind: "first" } // block 0 is loaded: totals and the most expensive functions
  | { kind: "ready" } // all functions and calls; lines, sources and code may still be loading
  | { kind: "fault"; text: string }
  | { kind: "progress"; text: string } // of reading in the page
  | { kind: "refused"; text: string }  // it is not a profile
  | { kind: "answer"; id: number; result?: unknown; error?: string };

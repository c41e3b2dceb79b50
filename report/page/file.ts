// SPDX-License-Identifier: MIT
//
// The contents of the file, and their faults.

const fromBase64 = (Uint8Array as unknown as { fromBase64?: (s: string) => Uint8Array }).fromBase64;

export function decode(text: string): Uint8Array {
  if (fromBase64) return fromBase64.call(Uint8Array, text);
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  // Not through a Blob, which would send the bytes through another process.
  const stream = new DecompressionStream("deflate-raw"), writer = stream.writable.getWriter();
  const written = writer.write(bytes).then(() => writer.close());
  const [out] = await Promise.all([new Response(stream.readable).arrayBuffer(), written]);
  return new Uint8Array(out);
}

export const text = (id: string): string => document.getElementById(id)!.textContent!.trim();

export function fault(text: string): void {
  const root = document.getElementById("quern-app")!;
  root.hidden = false;
  const p = document.createElement("p");
  p.textContent = text;
  p.className = "fault";
  p.setAttribute("role", "alert");
  root.prepend(p);
}

// SPDX-License-Identifier: MIT
//
// In a page without a profile: the form and the drop target for one profile, several that are summed or shown as a series,
// and one to compare them with. Archives are unpacked here.
import { button, h } from "./element";
import type { Picked } from "./reader";

export interface Choice { files: Picked[]; base: Picked[]; series: boolean }

// The contents of the archive, up to the damage.
async function unpack(bytes: Uint8Array): Promise<{ bytes: Uint8Array; cut: boolean }> {
  const stream = new DecompressionStream("gzip"), writer = stream.writable.getWriter(), reader = stream.readable.getReader();
  const pieces: Uint8Array[] = [];
  let cut = false;
  const written = writer.write(bytes).then(() => writer.close()).catch(() => { cut = true; });
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      pieces.push(value as Uint8Array);
    }
  } catch {
    cut = true;
  }
  await written;
  return { bytes: new Uint8Array(await new Blob(pieces as BlobPart[]).arrayBuffer()), cut };
}

async function pick(file: File): Promise<Picked> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd)
    throw new Error(file.name + ": browsers cannot unpack zstd; zstd -d does");
  return { name: file.name, ...(bytes[0] === 0x1f && bytes[1] === 0x8b ? await unpack(bytes) : { bytes, cut: false }) };
}

export class Drop {
  private readonly files = h("input", { type: "file", multiple: true, id: "quern-files" });
  private readonly base = h("input", { type: "file", id: "quern-base" });
  private readonly series = h("input", { type: "checkbox", id: "quern-apart" });
  private readonly status = h("p", { role: "status", class: "status" });
  private readonly menu = h("details", { class: "menu open" }, h("summary", {}, "Open a profile"));
  private readonly first = h("main", {});
  private readonly later = h("section", { "aria-label": "Open a profile" });
  private busy = false;

  constructor(root: HTMLElement, title: string, private readonly open: (choice: Choice) => Promise<void>) {
    const form = h("form", { class: "box" },
      h("p", {}, h("label", {}, "Callgrind or Cachegrind profiles; several are summed ", this.files)),
      h("p", {}, h("label", {}, this.series, " Each profile is a run with its own column (series)")),
      h("p", {}, h("label", {}, "Compare with (base) ", this.base)),
      h("p", {}, h("button", {}, "Show"), " ", button("Clear the base", () => { this.base.value = ""; })));
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      void this.take([...this.files.files ?? []]);
    });
    this.first.append(h("h1", {}, title), h("p", {}, "Drop profiles anywhere on this page, or choose them here. They stay on this ",
      "machine: the page reads them itself and cannot use the network."), form);
    this.later.append(this.menu);
    root.prepend(this.later, this.status, this.first);
    this.later.hidden = true;
    root.hidden = false;
    document.addEventListener("dragover", (e) => e.preventDefault());
    document.addEventListener("drop", (e) => {
      e.preventDefault();
      void this.take([...e.dataTransfer?.files ?? []]);
    });
  }

  say(text: string): void { this.status.textContent = text; }

  private async take(files: File[]): Promise<void> {
    if (this.busy) return;
    if (!files.length) {
      this.say("No profile is chosen yet.");
      return;
    }
    this.busy = true;
    try {
      const series = this.series.checked, base = series ? [] : [...this.base.files ?? []];
      this.say("Reading " + files.map((file) => file.name).join(", ") + " …");
      const one = async (list: File[]): Promise<Picked[]> => Promise.all(list.map(pick));
      if (series && files.length < 2) throw new Error("a series needs two profiles or more");
      await this.open({ files: await one(files), base: await one(base), series });
      this.say("");
      // From now on the form is a menu above the report.
      const form = this.first.querySelector("form");
      if (form) {
        this.menu.append(form);
        this.first.remove();
        this.later.hidden = false;
      }
      this.menu.open = false;
    } catch (e) {
      this.say((e as Error).message);
    } finally {
      this.busy = false;
    }
  }
}

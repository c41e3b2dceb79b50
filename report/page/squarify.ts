// SPDX-License-Identifier: MIT
//
// The places of boxes in a treemap of one level, as report/core/treemap.c lays them out: rows along the shorter side of what is free,
// each as long as its worst box does not become narrower.

export interface Place { x: number; y: number; w: number; h: number }

// Areas in proportion to values, which are above zero and sorted, the largest first.
export function squarify(value: number[], whole: number, width: number, height: number): Place[] {
  const scale = width * height / whole, out: Place[] = [];
  let x = 0, y = 0, w = width, h = height;
  const worst = (sum: number, least: number, most: number, side: number): number =>
    Math.max(side * side * most / (sum * sum), sum * sum / (side * side * least));
  for (let i = 0; i < value.length;) {
    const side = Math.min(w, h), most = value[i]! * scale;
    let sum = most, end = i + 1;
    for (; end < value.length; end++) {
      const v = value[end]! * scale;
      if (worst(sum + v, v, most, side) > worst(sum, value[end - 1]! * scale, most, side)) break;
      sum += v;
    }
    const thick = side > 0 ? sum / side : 0;
    for (let at = 0; i < end; i++) {
      const long = thick > 0 ? value[i]! * scale / thick : 0;
      out.push(w < h ? { x: x + at, y, w: long, h: thick } : { x, y: y + at, w: thick, h: long });
      at += long;
    }
    if (w < h) {
      y += thick;
      h -= thick;
    } else {
      x += thick;
      w -= thick;
    }
  }
  return out;
}

# SPDX-License-Identifier: MIT
"""The visibility of colours: the script with which check.py finds illegible text, and distances of colours for any kind of sight."""

# Text against its background (WCAG 1.4.3): colours of 4.5 : 1 at least. Gradients (bars of shares) and heat are mixed by their largest part.
CONTRAST = """
const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = (e) => {
    const all = [];
    for (; e; e = e.parentElement) {
        const s = getComputedStyle(e);
        all.push(s.backgroundImage.startsWith('linear') ? parse(s.backgroundImage.match(/rgb[^)]*\\)/)[0]) : parse(s.backgroundColor));
    }
    return all.reduceRight((under, c) => over(c, under), [255, 255, 255, 1]);
};
const bad = [];
for (const e of document.querySelectorAll('#quern-app *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length || e.closest('[disabled], svg, .skip')) continue;
    const back = behind(e), text = over(parse(getComputedStyle(e).color), back), a = light(text), b = light(back);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(e.tagName + '.' + e.className + ' ' + ratio.toFixed(2) + ' ' + e.textContent.slice(0, 30));
}
const ids = [...document.querySelectorAll('#quern-app [id]')].map((e) => e.id);
return [...new Set(bad)].concat(ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => 'twice: ' + id));
"""

# Colours as seen with a kind of cones missing: linear red, green and blue (Machado, Oliveira, Fernandes 2009, severity 1).
SIGHTS = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def light(color, sight="all"):
    """Linear parts of a colour "#rrggbb" or "r g b", as it is perceived."""
    parts = [int(color[i:i + 2], 16) for i in (1, 3, 5)] if color[0] == "#" else map(int, color.split())
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (p / 255 for p in parts)]
    return [min(1, max(0, sum(a * b for a, b in zip(row, linear)))) for row in SIGHTS[sight]]


def apart(a, b, sight):
    """The distance of two colours in CIELAB (D65), where 2.3 can just be seen."""
    def lab(color):
        r, g, b = light(color, sight)
        x, y, z = ((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b,
                   (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883)
        f, g, h = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
        return 116 * g - 16, 500 * (f - g), 200 * (g - h)
    return sum((p - q) ** 2 for p, q in zip(lab(a), lab(b))) ** 0.5

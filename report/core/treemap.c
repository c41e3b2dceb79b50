// SPDX-License-Identifier: MIT
//
// Lays rows along the shorter side of the free area; a row takes another part as long as its worst
// piece does not become narrower.
#include "report/core/treemap.h"

#include "report/core/heap.h"

// The worst ratio of sides in a row of sum `sum`, whose pieces are from `least` to `most`, along a
// side.
static double worst(double sum, double least, double most, double side)
{
    double s2 = side * side, sum2 = sum * sum;
    double a = s2 * most / sum2, b = sum2 / (s2 * least);

    return a > b ? a : b;
}

void treemap_squarify(const double *value, uint32_t n, double whole, struct treemap_rect room,
                      struct treemap_rect *out)
{
    double area = room.w * room.h, scale = whole > 0 ? area / whole : 0;
    uint32_t i = 0;

    for (uint32_t k = 0; k < n; k++)
        out[k] = (struct treemap_rect){ room.x, room.y, 0, 0 };
    while (i < n && value[i] * scale > 0 && room.w > 0 && room.h > 0) {
        double side = room.w < room.h ? room.w : room.h;
        double sum = value[i] * scale, most = sum;
        uint32_t end = i + 1;
        while (end < n && value[end] * scale > 0) {
            double v = value[end] * scale;
            if (worst(sum + v, v, most, side) > worst(sum, value[end - 1] * scale, most, side))
                break;
            sum += v;
            end++;
        }
        double thick = sum / side, at = 0;
        for (; i < end; i++) {
            double length = value[i] * scale / thick;
            if (room.w < room.h)
                out[i] = (struct treemap_rect){ room.x + at, room.y, length, thick };
            else
                out[i] = (struct treemap_rect){ room.x, room.y + at, thick, length };
            at += length;
        }
        if (room.w < room.h) {
            room.y += thick;
            room.h -= thick;
        } else {
            room.x += thick;
            room.w -= thick;
        }
    }
}

// Lays out members first to end of `list`.
static void nest_one(const double *value, const uint32_t *list, uint32_t n, double whole,
                     struct treemap_rect room, double *v, struct treemap_rect *r,
                     struct treemap_rect *out)
{
    for (uint32_t i = 0; i < n; i++)
        v[i] = value[list[i]];
    treemap_squarify(v, n, whole, room, r);
    for (uint32_t i = 0; i < n; i++)
        out[list[i]] = r[i];
}

int treemap_nest(const double *value, const uint32_t *parent, uint32_t n, double whole,
                 struct treemap_rect room, struct treemap_style style, struct treemap_rect *out)
{
    // Members of box p are list[first[p + 1]] to list[first[p + 2] - 1]; roots come first.
    uint32_t *first = heap_array((size_t)n + 4, sizeof(*first));
    uint32_t *list = heap_array(n, sizeof(*list));
    struct treemap_rect *r = heap_array(n, sizeof(*r));
    double *v = heap_array(n, sizeof(*v));
    int rc = first && list && r && v ? 0 : CORE_MEMORY;

    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        uint32_t p = parent[i];
        if (p != CORE_NONE && p >= i)
            rc = CORE_WRONG;
        else
            first[p == CORE_NONE ? 2 : (size_t)p + 3]++;
    }
    for (uint32_t i = 1; rc == 0 && i < n + 4; i++)
        first[i] += first[i - 1];
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        list[first[parent[i] == CORE_NONE ? 1 : parent[i] + 2]++] = i;
    if (rc == 0)
        nest_one(value, list, first[1], whole, room, v, r, out);
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        struct treemap_rect inner = { out[i].x + style.edge, out[i].y + style.edge + style.head,
                                      out[i].w - 2 * style.edge,
                                      out[i].h - 2 * style.edge - style.head };
        if (inner.w < style.least || inner.h < style.least)
            inner.w = inner.h = 0;
        nest_one(value, list + first[i + 1], first[i + 2] - first[i + 1], value[i], inner, v, r,
                 out);
    }
    heap_put(first);
    heap_put(list);
    heap_put(r);
    heap_put(v);
    return rc;
}

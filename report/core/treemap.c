// SPDX-License-Identifier: MIT
//
// Lays rows along the shorter side of what is left; a row takes another part as long as that makes
// its worst piece no narrower.
#include "report/core/treemap.h"

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

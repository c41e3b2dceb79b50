// SPDX-License-Identifier: MIT
//
// Floating point, scalar and double: five bodies under gravity; their energy must stay constant.
// Divisions, square roots, conversions both ways.
#include <stdint.h>

int run(void);

struct body {
    double x[3], v[3], mass;
};

static struct body body[5] = {
    { { 0, 0, 0 }, { 0, 0, 0 }, 39.47841760435743 },
    { { 4.84143144246472090, -1.16032004402742839, -0.103622044471123109 },
      { 0.606326392995832, 2.81198684491626, -0.02521836165988763 },
      0.03769367487038949 },
    { { 8.34336671824457987, 4.12479856412430479, -0.403523417114321381 },
      { -1.0107743461787924, 1.8256623712304119, 0.008415761376584154 },
      0.011286326131968767 },
    { { 12.8943695621391310, -15.1111514016986312, -0.223307578892655734 },
      { 1.0827910064415354, 0.8687130181696082, -0.010832637401363636 },
      0.0017237240570597112 },
    { { 15.3796971148509165, -25.9193146099879641, 0.179258772950371181 },
      { 0.979090732243898, 0.5946989986476762, -0.034755955550407 },
      0.0020336868699246304 },
};

static double root(double x)
{
    double y;

    __asm__("sqrtsd %1, %0" : "=x"(y) : "xm"(x));
    return y;
}

static double energy(void)
{
    double e = 0;

    for (int i = 0; i < 5; i++) {
        double v2 = 0;

        for (int k = 0; k < 3; k++)
            v2 += body[i].v[k] * body[i].v[k];
        e += 0.5 * body[i].mass * v2;
        for (int j = i + 1; j < 5; j++) {
            double d2 = 0;

            for (int k = 0; k < 3; k++)
                d2 += (body[i].x[k] - body[j].x[k]) * (body[i].x[k] - body[j].x[k]);
            e -= body[i].mass * body[j].mass / root(d2);
        }
    }
    return e;
}

static void step(double dt)
{
    for (int i = 0; i < 5; i++)
        for (int j = i + 1; j < 5; j++) {
            double d[3], d2 = 0, m;

            for (int k = 0; k < 3; k++) {
                d[k] = body[i].x[k] - body[j].x[k];
                d2 += d[k] * d[k];
            }
            m = dt / (d2 * root(d2));
            for (int k = 0; k < 3; k++) {
                body[i].v[k] -= d[k] * body[j].mass * m;
                body[j].v[k] += d[k] * body[i].mass * m;
            }
        }
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 3; k++)
            body[i].x[k] += dt * body[i].v[k];
}

int run(void)
{
    double before = energy(), after, drift;
    int64_t millionths;

    for (int i = 0; i < 300; i++)
        step(0.001);
    after = energy();
    drift = (after - before) / before;
    millionths = (int64_t)(drift * 1e6);
    return millionths < -500 || millionths > 500;
}

/* A valve and a cylinder with two chambers:
 *
 *   p1' = β/V1 (Q1 − A1 v),   V1 = V0 + A1 x          Q1, Q2: through the valve, into chamber 1 and out of chamber 2
 *   p2' = β/V2 (A2 v − Q2),   V2 = V0 + A2 (s − x)    force = A1 p1 − A2 p2 */
#include <math.h>
#define GUID "{hydraulic-cylinder}"
#define MICRO 2e-4 /* s; the oil and the mass oscillate with some 30 Hz */
#define INPUTS 3
#define STATES 2

enum { OPENING, POSITION, VELOCITY, PRESSURE1, PRESSURE2, FORCE, SUPPLY, VALVE, BULK, AREA1, AREA2, STROKE, DEAD, COUNT };
static const double start[COUNT] = {
    [OPENING] = 0.3, [POSITION] = 0.2, [PRESSURE1] = 5e6, [PRESSURE2] = 1e7, [SUPPLY] = 2e7, [VALVE] = 2e-7, [BULK] = 1.2e9,
    [AREA1] = 2e-3, [AREA2] = 1e-3, [STROKE] = 1.0, [DEAD] = 2e-4,
};

/* Flow through an orifice for a pressure difference. */
static double root(double p) { return copysign(sqrt(fabs(p)), p); }

static void rates(const double v[], double dx[]) {
    double k = v[VALVE] * v[OPENING];
    double q1 = k * root(k > 0 ? v[SUPPLY] - v[PRESSURE1] : v[PRESSURE1]); /* the tank has no pressure */
    double q2 = k * root(k > 0 ? v[PRESSURE2] : v[SUPPLY] - v[PRESSURE2]);
    double x = fmin(fmax(v[POSITION], 0), v[STROKE]); /* volumes stay positive, whatever a coupling does */
    dx[0] = v[BULK] / (v[DEAD] + v[AREA1] * x) * (q1 - v[AREA1] * v[VELOCITY]);
    dx[1] = v[BULK] / (v[DEAD] + v[AREA2] * (v[STROKE] - x)) * (v[AREA2] * v[VELOCITY] - q2);
}
static void outputs(double v[]) { v[FORCE] = v[AREA1] * v[PRESSURE1] - v[AREA2] * v[PRESSURE2]; }

#include "fmu.h"

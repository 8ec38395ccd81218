/* A DC motor with brushes: L i' = U − R i − k ω, torque = k i. */
#define GUID "{dc-motor}"
#define MICRO 1e-4 /* s; L/R is 4 ms */
#define INPUTS 2
#define STATES 1

enum { VOLTAGE, SPEED, CURRENT, TORQUE, RESISTANCE, INDUCTANCE, CONSTANT, COUNT };
static const double start[COUNT] = { [VOLTAGE] = 24, [RESISTANCE] = 0.5, [INDUCTANCE] = 2e-3, [CONSTANT] = 0.1 };

static void rates(const double v[], double dx[]) {
    dx[0] = (v[VOLTAGE] - v[RESISTANCE] * v[CURRENT] - v[CONSTANT] * v[SPEED]) / v[INDUCTANCE];
}
static void outputs(double v[]) { v[TORQUE] = v[CONSTANT] * v[CURRENT]; }

#include "fmu.h"

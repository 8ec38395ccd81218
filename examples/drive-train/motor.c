/* An electric motor: lag · torque' = limit tanh(demand / limit) − torque, J ω' = torque − d ω − load_torque. */
#include <math.h>
#define GUID "{drive-train-motor}"
#define MICRO 1e-3 /* s; the lag is 30 ms */
#define INPUTS 2
#define STATES 2

enum { DEMAND, LOAD_TORQUE, TORQUE, OMEGA, SPEED, POWER, INERTIA, FRICTION, LAG, LIMIT, COUNT };
static const double start[COUNT] = { [INERTIA] = 0.05, [FRICTION] = 0.01, [LAG] = 0.03, [LIMIT] = 300 };

static void rates(const double v[], double dx[]) {
    dx[0] = (v[LIMIT] * tanh(v[DEMAND] / v[LIMIT]) - v[TORQUE]) / v[LAG];
    dx[1] = (v[TORQUE] - v[FRICTION] * v[OMEGA] - v[LOAD_TORQUE]) / v[INERTIA];
}
static void outputs(double v[]) {
    v[SPEED] = v[OMEGA] * 30 / acos(-1.0); /* revolutions per minute */
    v[POWER] = 1e-3 * v[TORQUE] * v[OMEGA];
}

#include "fmu.h"

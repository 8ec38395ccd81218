/* A vehicle on a plain road: m v' = 1000 axle_torque / r − ½ ρ cA v² − m g f tanh(v / 0.1 m/s), x' = v; axle_torque in kN·m. */
#include <math.h>
#define GUID "{drive-train-vehicle}"
#define MICRO 5e-3 /* s; rolling resistance sets in within 0.1 m/s, which takes 60 ms */
#define INPUTS 1
#define STATES 2

enum { AXLE_TORQUE, POSITION, V, VELOCITY, WHEEL_SPEED, MASS, RADIUS, DRAG_AREA, ROLLING, COUNT };
static const double start[COUNT] = { [MASS] = 3000, [RADIUS] = 0.35, [DRAG_AREA] = 1.5, [ROLLING] = 0.01 };

static void rates(const double v[], double dx[]) {
    double drag = 0.5 * 1.2 * v[DRAG_AREA] * v[V] * fabs(v[V]);
    double rolling = v[MASS] * 9.81 * v[ROLLING] * tanh(v[V] / 0.1);
    dx[0] = v[V];
    dx[1] = (1e3 * v[AXLE_TORQUE] / v[RADIUS] - drag - rolling) / v[MASS];
}
static void outputs(double v[]) {
    v[VELOCITY] = 3.6 * v[V]; /* km/h */
    v[WHEEL_SPEED] = v[V] / v[RADIUS];
}

#include "fmu.h"

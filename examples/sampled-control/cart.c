/* A cart on a rail: m v' = force − d v, x' = v. */
#define GUID "{sampled-control-cart}"
#define MICRO 0.01 /* s; m/d is 2 s */
#define INPUTS 1
#define STATES 2

enum { FORCE, POSITION, VELOCITY, MASS, FRICTION, COUNT };
static const double start[COUNT] = { [MASS] = 10, [FRICTION] = 5 };

static void rates(const double v[], double dx[]) {
    dx[0] = v[VELOCITY];
    dx[1] = (v[FORCE] - v[FRICTION] * v[VELOCITY]) / v[MASS];
}
static void outputs(double v[]) { (void)v; /* all of them are states */ }

#include "fmu.h"

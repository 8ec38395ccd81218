/* A mass on a guide with friction: m v' = force − d v, x' = v. */
#define GUID "{hydraulic-mass}"
#define MICRO 1e-3 /* s; m/d is 0.1 s */
#define INPUTS 1
#define STATES 2

enum { FORCE, POSITION, VELOCITY, MASS, FRICTION, COUNT };
static const double start[COUNT] = { [POSITION] = 0.2, [MASS] = 200, [FRICTION] = 2000 };

static void rates(const double v[], double dx[]) {
    dx[0] = v[VELOCITY];
    dx[1] = (v[FORCE] - v[FRICTION] * v[VELOCITY]) / v[MASS];
}
static void outputs(double v[]) { (void)v; /* all of them are states */ }

#include "fmu.h"

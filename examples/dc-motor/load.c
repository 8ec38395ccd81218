/* A flywheel with friction and a brake: J ω' = torque − d ω − brake, φ' = ω. */
#define GUID "{dc-motor-load}"
#define MICRO 1e-3 /* s; J/d is 5 s */
#define INPUTS 2
#define STATES 2

enum { TORQUE, BRAKE, SPEED, ANGLE, INERTIA, FRICTION, COUNT };
static const double start[COUNT] = { [INERTIA] = 5e-4, [FRICTION] = 1e-4 };

static void rates(const double v[], double dx[]) {
    dx[0] = (v[TORQUE] - v[FRICTION] * v[SPEED] - v[BRAKE]) / v[INERTIA];
    dx[1] = v[SPEED];
}
static void outputs(double v[]) { (void)v; /* all of them are states */ }

#include "fmu.h"

/* A gear and an elastic shaft: twist' = ω − i w, with the speeds ω of the motor and w of the wheels,
 *
 *   shaft_torque = k twist + c (ω − i w),   axle_torque = i shaft_torque */
#define GUID "{drive-train-gearbox}"
#define MICRO 1e-3 /* s */
#define INPUTS 2
#define STATES 1

enum { MOTOR_SPEED, WHEEL_SPEED, TWIST, SHAFT_TORQUE, AXLE_TORQUE, RATIO, STIFFNESS, DAMPING, COUNT };
static const double start[COUNT] = { [RATIO] = 10, [STIFFNESS] = 100, [DAMPING] = 1 };

static double slip(const double v[]) { return v[MOTOR_SPEED] - v[RATIO] * v[WHEEL_SPEED]; }
static void rates(const double v[], double dx[]) { dx[0] = slip(v); }
static void outputs(double v[]) {
    v[SHAFT_TORQUE] = v[STIFFNESS] * v[TWIST] + v[DAMPING] * slip(v);
    v[AXLE_TORQUE] = v[RATIO] * v[SHAFT_TORQUE];
}

#include "fmu.h"

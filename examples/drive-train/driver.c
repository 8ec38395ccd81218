/* A driver who follows a speed v_ref(t): demand = feedforward a_ref + gain (v_ref − v) + integral, integral' = gain / reset (v_ref − v). */
#include <math.h>
#define GUID "{drive-train-driver}"
#define MICRO 2e-3 /* s; the reference bends within 0.1 s */
#define INPUTS 1
#define STATES 2

enum { VELOCITY, CLOCK, INTEGRAL, DEMAND, REFERENCE, GAIN, RESET, FEEDFORWARD, COUNT };
static const double start[COUNT] = { [GAIN] = 300, [RESET] = 5, [FEEDFORWARD] = 115 };

/* What is driven: accelerations that begin and end at these times (s), in m/s², and how long it takes to change one. */
static const struct { double begin, end, acceleration; } drives[] = { { 1, 9, 1.6 }, { 13, 17, -2.0 } };
static const double within = 0.1;

/* From 0 to 1 within the time `within` after t = 0, and its integral. */
static double step(double t) {
    double x = fmin(fmax(t / within, 0), 1);
    return x * x * (3 - 2 * x);
}
static double ramp(double t) {
    double x = fmin(fmax(t / within, 0), 1);
    return within * x * x * x * (1 - x / 2) + fmax(t - within, 0);
}
static double reference(double t) {
    double v = 0;
    for (int i = 0; i < 2; i++) v += drives[i].acceleration * (ramp(t - drives[i].begin) - ramp(t - drives[i].end));
    return v;
}
static double acceleration(double t) {
    double a = 0;
    for (int i = 0; i < 2; i++) a += drives[i].acceleration * (step(t - drives[i].begin) - step(t - drives[i].end));
    return a;
}

static void rates(const double v[], double dx[]) {
    dx[0] = 1;
    dx[1] = v[GAIN] / v[RESET] * (reference(v[CLOCK]) - v[VELOCITY]);
}
static void outputs(double v[]) {
    v[REFERENCE] = reference(v[CLOCK]);
    v[DEMAND] = v[FEEDFORWARD] * acceleration(v[CLOCK]) + v[GAIN] * (v[REFERENCE] - v[VELOCITY]) + v[INTEGRAL];
}

#include "fmu.h"

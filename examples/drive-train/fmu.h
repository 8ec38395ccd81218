/* A model with states as an FMU of FMI 2.0 co-simulation. Include it last; before it stand
 *
 *   GUID, MICRO           as in the description; the longest internal step, in s
 *   INPUTS, STATES        how many of them there are
 *   enum { …, COUNT }     value references: inputs first, then states, then all others
 *   start[COUNT]          start values
 *   rates(v, dx)          the time derivatives of the states
 *   outputs(v)            computes the outputs that are not states
 *
 * Steps are made by the classical Runge–Kutta method; inputs may come with two derivatives; states can be saved. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define OK(name) EXPORT int name(void *c, ...) { return (void)c, 0; }   /* nothing to do: fmi2OK */
#define NO(name) EXPORT int name(void *c, ...) { return (void)c, 3; }   /* not supported: fmi2Error */

typedef struct {
    double v[COUNT];
    double slope[INPUTS], curvature[INPUTS];
} Model;

EXPORT const char *fmi2GetVersion(void) { return "2.0"; }
EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }

EXPORT int fmi2Reset(void *c) {
    Model *m = c;
    memset(m, 0, sizeof *m);
    memcpy(m->v, start, sizeof start);
    return 0;
}
EXPORT void *fmi2Instantiate(const char *name, int kind, const char *guid, const char *resources, const void *calls,
                             int visible, int logging) {
    (void)name, (void)resources, (void)calls, (void)visible, (void)logging;
    Model *m = kind == 1 && strcmp(guid, GUID) == 0 ? malloc(sizeof *m) : NULL;
    if (m) fmi2Reset(m);
    return m;
}
EXPORT void fmi2FreeInstance(void *c) { free(c); }

EXPORT int fmi2SetReal(void *c, const unsigned r[], size_t n, const double value[]) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) {
        if (r[i] >= COUNT) return 3;
        m->v[r[i]] = value[i];
    }
    return 0;
}
EXPORT int fmi2GetReal(void *c, const unsigned r[], size_t n, double value[]) {
    Model *m = c;
    outputs(m->v);
    for (size_t i = 0; i < n; i++) {
        if (r[i] >= COUNT) return 3;
        value[i] = m->v[r[i]];
    }
    return 0;
}
EXPORT int fmi2SetRealInputDerivatives(void *c, const unsigned r[], size_t n, const int order[], const double value[]) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) {
        if (r[i] >= INPUTS || order[i] < 1 || order[i] > 2) return 3;
        (order[i] == 1 ? m->slope : m->curvature)[r[i]] = value[i];
    }
    return 0;
}

/* The derivatives at a time s after the start of the step, with the states x + a dx. */
static void stage(Model *m, const double u[], double s, const double x[], double a, const double dx[], double result[]) {
    for (int i = 0; i < INPUTS; i++) m->v[i] = u[i] + s * (m->slope[i] + s * m->curvature[i] / 2);
    for (int i = 0; i < STATES; i++) m->v[INPUTS + i] = x[i] + a * dx[i];
    rates(m->v, result);
}
EXPORT int fmi2DoStep(void *c, double t, double h, int final) {
    Model *m = c;
    (void)t, (void)final;
    double u[INPUTS], x[STATES], a[STATES], b[STATES], d[STATES], e[STATES];
    memcpy(u, m->v, sizeof u);
    memcpy(x, m->v + INPUTS, sizeof x);
    int steps = h > MICRO ? (int)ceil(h / MICRO) : 1;
    double k = h / steps;
    for (int n = 0; n < steps; n++) {
        double s = n * k;
        stage(m, u, s, x, 0, x, a);
        stage(m, u, s + k / 2, x, k / 2, a, b);
        stage(m, u, s + k / 2, x, k / 2, b, d);
        stage(m, u, s + k, x, k, d, e);
        for (int i = 0; i < STATES; i++) x[i] += k * (a[i] + 2 * b[i] + 2 * d[i] + e[i]) / 6;
    }
    memcpy(m->v + INPUTS, x, sizeof x);
    memset(m->slope, 0, sizeof m->slope); /* derivatives are given for one step */
    memset(m->curvature, 0, sizeof m->curvature);
    return 0;
}

EXPORT int fmi2GetFMUstate(void *c, void **state) {
    if (!*state && !(*state = malloc(sizeof(Model)))) return 3;
    memcpy(*state, c, sizeof(Model));
    return 0;
}
EXPORT int fmi2SetFMUstate(void *c, void *state) { return memcpy(c, state, sizeof(Model)), 0; }
EXPORT int fmi2FreeFMUstate(void *c, void **state) {
    (void)c;
    free(*state);
    *state = NULL;
    return 0;
}

OK(fmi2SetDebugLogging) OK(fmi2SetupExperiment) OK(fmi2EnterInitializationMode) OK(fmi2ExitInitializationMode)
OK(fmi2Terminate)
NO(fmi2GetInteger) NO(fmi2GetBoolean) NO(fmi2GetString) NO(fmi2SetInteger) NO(fmi2SetBoolean) NO(fmi2SetString)
NO(fmi2SerializedFMUstateSize) NO(fmi2SerializeFMUstate) NO(fmi2DeSerializeFMUstate)
NO(fmi2GetDirectionalDerivative) NO(fmi2GetRealOutputDerivatives) NO(fmi2CancelStep) NO(fmi2GetStatus)
NO(fmi2GetRealStatus) NO(fmi2GetIntegerStatus) NO(fmi2GetBooleanStatus) NO(fmi2GetStringStatus)

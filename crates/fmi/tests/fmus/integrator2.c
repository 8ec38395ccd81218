/* x' = k u, y = x + d u, exact for inputs that are polynomials of second degree. FMI 2.0, everything optional included.
 * References: 0 u, 1 x, 2 y, 3 k, 4 d, 5 x0. */
#include "fmi2.h"
#include "stubs.h"
#include <stdlib.h>
#include <string.h>

enum { U, X, Y, K, D, X0, COUNT };

typedef struct {
    double v[COUNT];
    double slope, curvature;
    fmi2Callbacks calls;
    char name[64];
} Model;

static void start(Model *m) {
    memset(m->v, 0, sizeof m->v);
    m->v[K] = 1;
    m->v[D] = 0.5;
    m->slope = m->curvature = 0;
}

FMI_EXPORT const char *fmi2GetVersion(void) { return "2.0"; }
FMI_EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }

FMI_EXPORT fmi2Component fmi2Instantiate(fmi2String name, int kind, fmi2String guid, fmi2String resources,
                                         const fmi2Callbacks *calls, fmi2Boolean visible, fmi2Boolean logging) {
    (void)resources, (void)visible, (void)logging;
    if (kind != 1 || strcmp(guid, "{integrator}") != 0) {
        calls->logger(calls->environment, name, fmi2Error, "logStatusError", "wrong guid %s", guid);
        return NULL;
    }
    Model *m = calls->allocateMemory(1, sizeof *m);
    m->calls = *calls;
    strncpy(m->name, name, sizeof m->name - 1);
    start(m);
    return m;
}
FMI_EXPORT void fmi2FreeInstance(fmi2Component c) {
    Model *m = c;
    m->calls.freeMemory(m);
}
NOTHING(fmi2SetDebugLogging)
NOTHING(fmi2SetupExperiment)
FMI_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
    Model *m = c;
    m->v[X] = m->v[X0];
    return fmi2OK;
}
NOTHING(fmi2ExitInitializationMode)
NOTHING(fmi2Terminate)
FMI_EXPORT fmi2Status fmi2Reset(fmi2Component c) { start(c); return fmi2OK; }

FMI_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, double v[]) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) {
        if (r[i] >= COUNT) return fmi2Error;
        v[i] = r[i] == Y ? m->v[X] + m->v[D] * m->v[U] : m->v[r[i]];
    }
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, const double v[]) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) {
        if (r[i] >= COUNT) return fmi2Error;
        if (r[i] == K && v[i] < 0) {
            m->calls.logger(m->calls.environment, m->name, fmi2Error, "logStatusError", "k = %g is negative", v[i]);
            return fmi2Error;
        }
        m->v[r[i]] = v[i];
    }
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference r[], size_t n,
                                                  const fmi2Integer order[], const double v[]) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) {
        if (r[i] != U || order[i] < 1 || order[i] > 2) return fmi2Error;
        *(order[i] == 1 ? &m->slope : &m->curvature) = v[i];
    }
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2DoStep(fmi2Component c, double t, double h, fmi2Boolean final) {
    Model *m = c;
    (void)t, (void)final;
    m->v[X] += m->v[K] * h * (m->v[U] + h * (m->slope / 2 + h * m->curvature / 6));
    m->v[U] += h * (m->slope + h * m->curvature / 2);
    m->slope = m->curvature = 0;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference z[], size_t nz,
                                                   const fmi2ValueReference v[], size_t nv, const double dv[], double dz[]) {
    Model *m = c;
    for (size_t i = 0; i < nz; i++) {
        dz[i] = 0;
        for (size_t j = 0; j < nv; j++)
            if (z[i] == Y && v[j] == U) dz[i] += m->v[D] * dv[j];
    }
    return fmi2OK;
}
/* The input has no slope of its own between steps. */
FMI_EXPORT fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference r[], size_t n,
                                                   const fmi2Integer order[], double v[]) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) {
        if ((r[i] != X && r[i] != Y) || order[i] < 1) return fmi2Error;
        v[i] = order[i] == 1 ? m->v[K] * m->v[U] : 0;
    }
    return fmi2OK;
}
GET_STATE(fmi2GetFMUstate)
SET_STATE(fmi2SetFMUstate)
FREE_STATE(fmi2FreeFMUstate)

STUB(fmi2GetInteger)
STUB(fmi2GetBoolean)
STUB(fmi2GetString)
STUB(fmi2SetInteger)
STUB(fmi2SetBoolean)
STUB(fmi2SetString)
STUB(fmi2SerializedFMUstateSize)
STUB(fmi2SerializeFMUstate)
STUB(fmi2DeSerializeFMUstate)
STUB(fmi2CancelStep)
STUB(fmi2GetStatus)
STUB(fmi2GetRealStatus)
STUB(fmi2GetIntegerStatus)
STUB(fmi2GetBooleanStatus)
STUB(fmi2GetStringStatus)

/* y = sin(2 pi f t) + noise · (a pseudo-random number in -1 … 1 at every step) + height from t = jump on. FMI 2.0, nothing optional:
 * nobody is told of the jump. References: 0 y, 1 f, 2 noise, 3 jump, 4 height. */
#include "fmi2.h"
#include "stubs.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { Y, F, NOISE, JUMP, HEIGHT, COUNT };

typedef struct {
    double v[COUNT];
    double t;
    uint64_t bits;
    fmi2Callbacks calls;
} Model;

static void start(Model *m) {
    memset(m->v, 0, sizeof m->v);
    m->v[F] = 1;
    m->v[JUMP] = 1e300;
    m->t = 0;
    m->bits = 88172645463325252u;
}

/* Marsaglia's xorshift. */
static double dice(Model *m) {
    m->bits ^= m->bits << 13;
    m->bits ^= m->bits >> 7;
    m->bits ^= m->bits << 17;
    return (double)(m->bits >> 11) / (double)(1ull << 52) - 1;
}

static void answer(Model *m) {
    m->v[Y] = sin(6.283185307179586 * m->v[F] * m->t) + m->v[NOISE] * dice(m) + (m->t >= m->v[JUMP] ? m->v[HEIGHT] : 0);
}

FMI_EXPORT const char *fmi2GetVersion(void) { return "2.0"; }
FMI_EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }

FMI_EXPORT fmi2Component fmi2Instantiate(fmi2String name, int kind, fmi2String guid, fmi2String resources,
                                         const fmi2Callbacks *calls, fmi2Boolean visible, fmi2Boolean logging) {
    (void)name, (void)resources, (void)visible, (void)logging;
    if (kind != 1 || strcmp(guid, "{signal}") != 0) return NULL;
    Model *m = calls->allocateMemory(1, sizeof *m);
    m->calls = *calls;
    start(m);
    return m;
}
FMI_EXPORT void fmi2FreeInstance(fmi2Component c) {
    Model *m = c;
    m->calls.freeMemory(m);
}
NOTHING(fmi2SetDebugLogging)
FMI_EXPORT fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean td, double tol, double t0, fmi2Boolean sd, double t1) {
    Model *m = c;
    (void)td, (void)tol, (void)sd, (void)t1;
    m->t = t0;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
    answer(c);
    return fmi2OK;
}
NOTHING(fmi2ExitInitializationMode)
NOTHING(fmi2Terminate)
FMI_EXPORT fmi2Status fmi2Reset(fmi2Component c) { start(c); return fmi2OK; }

FMI_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, double v[]) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) {
        if (r[i] >= COUNT) return fmi2Error;
        v[i] = m->v[r[i]];
    }
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, const double v[]) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) {
        if (r[i] >= COUNT || r[i] == Y) return fmi2Error;
        m->v[r[i]] = v[i];
    }
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2DoStep(fmi2Component c, double t, double h, fmi2Boolean final) {
    Model *m = c;
    (void)final;
    m->t = t + h;
    answer(m);
    return fmi2OK;
}

STUB(fmi2GetInteger)
STUB(fmi2GetBoolean)
STUB(fmi2GetString)
STUB(fmi2SetInteger)
STUB(fmi2SetBoolean)
STUB(fmi2SetString)
STUB(fmi2SetRealInputDerivatives)
STUB(fmi2GetRealOutputDerivatives)
STUB(fmi2GetDirectionalDerivative)
STUB(fmi2GetFMUstate)
STUB(fmi2SetFMUstate)
STUB(fmi2FreeFMUstate)
STUB(fmi2SerializedFMUstateSize)
STUB(fmi2SerializeFMUstate)
STUB(fmi2DeSerializeFMUstate)
STUB(fmi2CancelStep)
STUB(fmi2GetStatus)
STUB(fmi2GetRealStatus)
STUB(fmi2GetIntegerStatus)
STUB(fmi2GetBooleanStatus)
STUB(fmi2GetStringStatus)

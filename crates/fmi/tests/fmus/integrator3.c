/* x' = k u, y = x + d u, and an event where x passes `limit`: k changes its sign there. FMI 3.0.
 * References: 0 time, 1 u, 2 x, 3 y, 4 k, 5 d, 6 x0, 7 limit, 8 direction (Int32), 9 steps (UInt64).
 * With an intermediate update it asks for its input at four points of a step and integrates by Simpson's rule. */
#include "fmi3.h"
#include "stubs.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TIME, U, X, Y, K, D, X0, LIMIT, REALS, DIRECTION = 8, STEPS = 9 };

typedef struct {
    double v[REALS];
    int32_t direction;
    uint64_t steps;
    int hit, event_mode, early, in_event;
    void *environment;
    fmi3LogMessage log;
    fmi3IntermediateUpdate update;
} Model;

static void start(Model *m) {
    memset(m->v, 0, sizeof m->v);
    m->v[K] = 1;
    m->v[D] = 0.5;
    m->v[LIMIT] = 1e300;
    m->direction = 1;
    m->steps = 0;
    m->hit = m->in_event = 0;
}

FMI_EXPORT const char *fmi3GetVersion(void) { return "3.0"; }
FMI_EXPORT fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, bool visible,
        bool logging, bool eventModeUsed, bool earlyReturnAllowed, const fmi3ValueReference required[], size_t nRequired,
        void *environment, fmi3LogMessage log, fmi3IntermediateUpdate update) {
    (void)name, (void)visible, (void)logging, (void)required, (void)nRequired;
    if (strcmp(token, "{integrator}") != 0) {
        log(environment, fmi3Error, "error", "wrong token");
        return NULL;
    }
    size_t n = strlen(resources);
    if (n == 0 || (resources[n - 1] != '/' && resources[n - 1] != '\\')) {
        log(environment, fmi3Error, "error", "the resource path has no separator at its end");
        return NULL;
    }
    Model *m = calloc(1, sizeof *m);
    start(m);
    m->event_mode = eventModeUsed;
    m->early = earlyReturnAllowed;
    m->environment = environment;
    m->log = log;
    m->update = update;
    return m;
}
FMI_EXPORT void fmi3FreeInstance(fmi3Instance c) { free(c); }
FMI_EXPORT fmi3Status fmi3EnterInitializationMode(fmi3Instance c, bool td, double tol, double t0, bool sd, double t1) {
    Model *m = c;
    (void)td, (void)tol, (void)sd, (void)t1;
    m->v[TIME] = t0;
    m->v[X] = m->v[X0];
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3ExitInitializationMode(fmi3Instance c) {
    Model *m = c;
    m->in_event = m->event_mode;
    return fmi3OK;
}
NOTHING(fmi3Terminate)
FMI_EXPORT fmi3Status fmi3Reset(fmi3Instance c) { start(c); return fmi3OK; }
FMI_EXPORT fmi3Status fmi3EnterEventMode(fmi3Instance c) {
    Model *m = c;
    if (!m->event_mode || m->in_event) return fmi3Error;
    m->in_event = 1;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3EnterStepMode(fmi3Instance c) {
    Model *m = c;
    if (!m->in_event) return fmi3Error;
    m->in_event = 0;
    return fmi3OK;
}
static void flip(Model *m) {
    m->direction = -m->direction;
    m->hit = 0;
}
FMI_EXPORT fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, bool *again, bool *terminate, bool *nominals, bool *values,
                                               bool *hasNext, double *next) {
    Model *m = c;
    if (!m->in_event) return fmi3Error;
    *again = m->hit;
    if (m->hit) flip(m);
    *terminate = *nominals = *values = *hasNext = false;
    *next = 0;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, double v[], size_t nv) {
    Model *m = c;
    if (n != nv) return fmi3Error;
    for (size_t i = 0; i < n; i++) {
        if (r[i] >= REALS) return fmi3Error;
        v[i] = r[i] == Y ? m->v[X] + m->v[D] * m->v[U] : m->v[r[i]];
    }
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, const double v[], size_t nv) {
    Model *m = c;
    if (n != nv) return fmi3Error;
    for (size_t i = 0; i < n; i++) {
        if (r[i] >= REALS) return fmi3Error;
        m->v[r[i]] = v[i];
    }
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetInt32(fmi3Instance c, const fmi3ValueReference r[], size_t n, int32_t v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != DIRECTION) return fmi3Error;
    v[0] = ((Model *)c)->direction;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetUInt64(fmi3Instance c, const fmi3ValueReference r[], size_t n, uint64_t v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != STEPS) return fmi3Error;
    v[0] = ((Model *)c)->steps;
    return fmi3OK;
}
static double input_at(Model *m, double t) {
    if (m->update) {
        bool early = false;
        double time = t;
        m->update(m->environment, t, true, false, false, false, &early, &time);
    }
    return m->v[U];
}
FMI_EXPORT fmi3Status fmi3DoStep(fmi3Instance c, double t, double h, bool final, bool *event, bool *terminate, bool *early,
                                 double *last) {
    Model *m = c;
    (void)final;
    *event = *terminate = *early = false;
    if (m->in_event || fabs(t - m->v[TIME]) > 1e-9) {
        m->log(m->environment, fmi3Error, "error", m->in_event ? "step in event mode" : "the step starts at the wrong time");
        return fmi3Error;
    }
    m->steps++;
    double rate = m->v[U];
    if (m->update) rate = (input_at(m, t) + 4 * input_at(m, t + h / 2) + input_at(m, t + h)) / 6;
    double x = m->v[X] + m->v[K] * m->direction * rate * h;
    double end = t + h;
    if (x > m->v[LIMIT] && m->direction > 0) {
        double to = (m->v[LIMIT] - m->v[X]) / (m->v[K] * rate);
        m->hit = 1;
        if (m->event_mode && m->early && to < h) {
            m->v[X] = m->v[LIMIT];
            m->v[TIME] = *last = t + to;
            *event = true;
            *early = to < h * (1 - 1e-12);
            return fmi3OK;
        }
        /* Inside: the rest of the step goes back. */
        m->v[X] = m->v[LIMIT] - m->v[K] * rate * (h - to);
        flip(m);
    } else {
        m->v[X] = x;
    }
    m->v[TIME] = *last = end;
    if (m->event_mode && fabs(m->v[X] - m->v[LIMIT]) < 1e-12 && m->direction > 0) {
        m->hit = 1;
        *event = true;
    }
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetDirectionalDerivative(fmi3Instance c, const fmi3ValueReference z[], size_t nz,
        const fmi3ValueReference v[], size_t nv, const double dv[], size_t ndv, double dz[], size_t ndz) {
    Model *m = c;
    if (nv != ndv || nz != ndz) return fmi3Error;
    for (size_t i = 0; i < nz; i++) {
        dz[i] = 0;
        for (size_t j = 0; j < nv; j++)
            if (z[i] == Y && v[j] == U) dz[i] += m->v[D] * dv[j];
    }
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetOutputDerivatives(fmi3Instance c, const fmi3ValueReference r[], size_t n, const int32_t order[],
                                               double v[], size_t nv) {
    Model *m = c;
    if (n != nv) return fmi3Error;
    for (size_t i = 0; i < n; i++) {
        if ((r[i] != X && r[i] != Y) || order[i] < 1) return fmi3Error;
        v[i] = order[i] == 1 ? m->v[K] * m->direction * m->v[U] : 0;
    }
    return fmi3OK;
}
GET_STATE(fmi3GetFMUState)
SET_STATE(fmi3SetFMUState)
FREE_STATE(fmi3FreeFMUState)

STUB(fmi3ActivateModelPartition)
STUB(fmi3CompletedIntegratorStep)
STUB(fmi3DeserializeFMUState)
STUB(fmi3EnterConfigurationMode)
STUB(fmi3EnterContinuousTimeMode)
STUB(fmi3EvaluateDiscreteStates)
STUB(fmi3ExitConfigurationMode)
STUB(fmi3GetAdjointDerivative)
STUB(fmi3GetBinary)
STUB(fmi3GetBoolean)
STUB(fmi3GetClock)
STUB(fmi3GetContinuousStateDerivatives)
STUB(fmi3GetContinuousStates)
STUB(fmi3GetEventIndicators)
STUB(fmi3GetFloat32)
STUB(fmi3GetInt16)
STUB(fmi3GetInt64)
STUB(fmi3GetInt8)
STUB(fmi3GetIntervalDecimal)
STUB(fmi3GetIntervalFraction)
STUB(fmi3GetNominalsOfContinuousStates)
STUB(fmi3GetNumberOfContinuousStates)
STUB(fmi3GetNumberOfEventIndicators)
STUB(fmi3GetNumberOfVariableDependencies)
STUB(fmi3GetShiftDecimal)
STUB(fmi3GetShiftFraction)
STUB(fmi3GetString)
STUB(fmi3GetUInt16)
STUB(fmi3GetUInt32)
STUB(fmi3GetUInt8)
STUB(fmi3GetVariableDependencies)
STUB(fmi3InstantiateModelExchange)
STUB(fmi3InstantiateScheduledExecution)
STUB(fmi3SerializeFMUState)
STUB(fmi3SerializedFMUStateSize)
STUB(fmi3SetBinary)
STUB(fmi3SetBoolean)
STUB(fmi3SetClock)
STUB(fmi3SetContinuousStates)
STUB(fmi3SetDebugLogging)
STUB(fmi3SetFloat32)
STUB(fmi3SetInt16)
STUB(fmi3SetInt32)
STUB(fmi3SetInt64)
STUB(fmi3SetInt8)
STUB(fmi3SetIntervalDecimal)
STUB(fmi3SetIntervalFraction)
STUB(fmi3SetShiftDecimal)
STUB(fmi3SetShiftFraction)
STUB(fmi3SetString)
STUB(fmi3SetTime)
STUB(fmi3SetUInt16)
STUB(fmi3SetUInt32)
STUB(fmi3SetUInt64)
STUB(fmi3SetUInt8)

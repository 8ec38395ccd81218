/* Counts its events. FMI 3.0 with event mode, which it needs: it has a clock. x' = rate, and rate = r + i + b + (length of s) as they
 * were at the last event.
 * Float64: 1 r (input, discrete), 2 x. Int32: 3 i (input), 4 events (output), 5 mode (parameter). Boolean: 6 b (input).
 * String: 7 s (input). Int64: 8 wide (input), 9 wide_out (output, = wide + 1). UInt64: 10 big (parameter), 11 big_out (output).
 * Float64: 12 p (tunable parameter, in the rate too). Clock: 20. The mode chooses the fault:
 * 1 announces an event in the past   2 asks for update after update   3 ends the simulation at its event at 0.5
 * 4 returns early at 0.25, with an event there   5 ends the simulation in a step at 0.55 */
#include "fmi3.h"
#include "stubs.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double r, x, rate, time, p;
    int32_t i, events, mode;
    int64_t wide;
    uint64_t big;
    bool b, initialized, in_event, early_allowed, was_early;
    char s[32];
} Model;

FMI_EXPORT const char *fmi3GetVersion(void) { return "3.0"; }
FMI_EXPORT fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, bool visible,
        bool logging, bool eventModeUsed, bool earlyReturnAllowed, const fmi3ValueReference required[], size_t nRequired,
        void *environment, fmi3LogMessage log, fmi3IntermediateUpdate update) {
    (void)name, (void)token, (void)resources, (void)visible, (void)logging;
    (void)required, (void)nRequired, (void)environment, (void)log, (void)update;
    if (!eventModeUsed) return NULL;
    Model *m = calloc(1, sizeof *m);
    m->early_allowed = earlyReturnAllowed;
    return m;
}
FMI_EXPORT void fmi3FreeInstance(fmi3Instance c) { free(c); }
NOTHING(fmi3SetDebugLogging)
FMI_EXPORT fmi3Status fmi3EnterInitializationMode(fmi3Instance c, bool td, double tol, double t0, bool sd, double t1) {
    (void)td, (void)tol, (void)sd, (void)t1;
    ((Model *)c)->time = t0;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3ExitInitializationMode(fmi3Instance c) {
    ((Model *)c)->initialized = ((Model *)c)->in_event = true;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3EnterEventMode(fmi3Instance c) {
    Model *m = c;
    if (m->in_event) return fmi3Error;
    m->in_event = true;
    m->events++;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, bool *again, bool *terminate, bool *nominals, bool *values,
                                               bool *hasNext, double *next) {
    Model *m = c;
    if (!m->in_event) return fmi3Error;
    m->rate = m->r + m->i + m->b + (double)strlen(m->s) + m->p;
    *nominals = *values = false;
    *again = m->mode == 2 && m->time > 0.25;
    *terminate = m->mode == 3 && m->time > 0.5 - 1e-9;
    *hasNext = m->mode == 1 || (m->mode == 3 && m->time < 0.5 - 1e-9);
    *next = m->mode == 3 ? 0.5 : m->time > 0.25 ? m->time - 0.1 : m->time + 0.1;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3EnterStepMode(fmi3Instance c) {
    Model *m = c;
    if (!m->in_event) return fmi3Error;
    m->in_event = false;
    return fmi3OK;
}
NOTHING(fmi3Terminate)
STUB(fmi3Reset)
FMI_EXPORT fmi3Status fmi3DoStep(fmi3Instance c, double t, double h, bool final, bool *event, bool *terminate, bool *early,
                                 double *last) {
    Model *m = c;
    (void)final;
    *event = *terminate = *early = false;
    if (m->in_event || fabs(t - m->time) > 1e-9) return fmi3Error;
    double end = t + h;
    if (m->mode == 4 && m->early_allowed && !m->was_early && end > 0.25 + 1e-9) {
        end = 0.25;
        *early = *event = m->was_early = true;
    }
    if (m->mode == 5 && end > 0.55 + 1e-9) {
        end = 0.55;
        *early = *terminate = true;
    }
    m->x += m->rate * (end - t);
    m->time = *last = end;
    if (m->mode == 3 && fabs(end - 0.5) < 1e-9) *event = true;
    if (m->mode == 2 && end > 0.25) *event = true;
    return fmi3OK;
}
/* What is discrete or tunable changes in event mode only. */
static bool closed(Model *m) { return m->initialized && !m->in_event; }
FMI_EXPORT fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, const double v[], size_t nv) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) {
        if (n != nv || (r[k] != 1 && r[k] != 12) || closed(m)) return fmi3Error;
        *(r[k] == 1 ? &m->r : &m->p) = v[k];
    }
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, double v[], size_t nv) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) {
        if (n != nv) return fmi3Error;
        v[k] = r[k] == 1 ? m->r : r[k] == 2 ? m->x : r[k] == 12 ? m->p : m->time;
    }
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetInt32(fmi3Instance c, const fmi3ValueReference r[], size_t n, const int32_t v[], size_t nv) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) {
        if (n != nv || closed(m)) return fmi3Error;
        *(r[k] == 3 ? &m->i : &m->mode) = v[k];
    }
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetInt32(fmi3Instance c, const fmi3ValueReference r[], size_t n, int32_t v[], size_t nv) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) {
        if (n != nv) return fmi3Error;
        v[k] = r[k] == 3 ? m->i : r[k] == 4 ? m->events : m->mode;
    }
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetBoolean(fmi3Instance c, const fmi3ValueReference r[], size_t n, const bool v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != 6 || closed(c)) return fmi3Error;
    ((Model *)c)->b = v[0];
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetBoolean(fmi3Instance c, const fmi3ValueReference r[], size_t n, bool v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != 6) return fmi3Error;
    v[0] = ((Model *)c)->b;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetString(fmi3Instance c, const fmi3ValueReference r[], size_t n, const fmi3String v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != 7 || closed(c)) return fmi3Error;
    strncpy(((Model *)c)->s, v[0], 31);
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetString(fmi3Instance c, const fmi3ValueReference r[], size_t n, fmi3String v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != 7) return fmi3Error;
    v[0] = ((Model *)c)->s;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetInt64(fmi3Instance c, const fmi3ValueReference r[], size_t n, const int64_t v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != 8 || closed(c)) return fmi3Error;
    ((Model *)c)->wide = v[0];
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetInt64(fmi3Instance c, const fmi3ValueReference r[], size_t n, int64_t v[], size_t nv) {
    for (size_t k = 0; k < n; k++) {
        if (n != nv || r[k] < 8 || r[k] > 9) return fmi3Error;
        v[k] = ((Model *)c)->wide + (r[k] == 9);
    }
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetUInt64(fmi3Instance c, const fmi3ValueReference r[], size_t n, const uint64_t v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != 10 || closed(c)) return fmi3Error;
    ((Model *)c)->big = v[0];
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetUInt64(fmi3Instance c, const fmi3ValueReference r[], size_t n, uint64_t v[], size_t nv) {
    for (size_t k = 0; k < n; k++) {
        if (n != nv || r[k] < 10 || r[k] > 11) return fmi3Error;
        v[k] = ((Model *)c)->big;
    }
    return fmi3OK;
}
STUB(fmi3ActivateModelPartition)
STUB(fmi3CompletedIntegratorStep)
STUB(fmi3DeserializeFMUState)
STUB(fmi3EnterConfigurationMode)
STUB(fmi3EnterContinuousTimeMode)
STUB(fmi3EvaluateDiscreteStates)
STUB(fmi3ExitConfigurationMode)
STUB(fmi3FreeFMUState)
STUB(fmi3GetAdjointDerivative)
STUB(fmi3GetBinary)
STUB(fmi3GetClock)
STUB(fmi3GetContinuousStateDerivatives)
STUB(fmi3GetContinuousStates)
STUB(fmi3GetDirectionalDerivative)
STUB(fmi3GetEventIndicators)
STUB(fmi3GetFMUState)
STUB(fmi3GetFloat32)
STUB(fmi3GetInt16)
STUB(fmi3GetInt8)
STUB(fmi3GetIntervalDecimal)
STUB(fmi3GetIntervalFraction)
STUB(fmi3GetNominalsOfContinuousStates)
STUB(fmi3GetNumberOfContinuousStates)
STUB(fmi3GetNumberOfEventIndicators)
STUB(fmi3GetNumberOfVariableDependencies)
STUB(fmi3GetOutputDerivatives)
STUB(fmi3GetShiftDecimal)
STUB(fmi3GetShiftFraction)
STUB(fmi3GetUInt16)
STUB(fmi3GetUInt32)
STUB(fmi3GetUInt8)
STUB(fmi3GetVariableDependencies)
STUB(fmi3InstantiateModelExchange)
STUB(fmi3InstantiateScheduledExecution)
STUB(fmi3SerializeFMUState)
STUB(fmi3SerializedFMUStateSize)
STUB(fmi3SetBinary)
STUB(fmi3SetClock)
STUB(fmi3SetContinuousStates)
STUB(fmi3SetFMUState)
STUB(fmi3SetFloat32)
STUB(fmi3SetInt16)
STUB(fmi3SetInt8)
STUB(fmi3SetIntervalDecimal)
STUB(fmi3SetIntervalFraction)
STUB(fmi3SetShiftDecimal)
STUB(fmi3SetShiftFraction)
STUB(fmi3SetTime)
STUB(fmi3SetUInt16)
STUB(fmi3SetUInt32)
STUB(fmi3SetUInt8)

/* A level that rises by ten times the order at every alarm: x' = 1, y = x + level, z = 2 u. FMI 3.0 with time events.
 * Float64: 1 u (input), 2 x, 3 y, 4 z (outputs), 5 first (parameter: the first alarm), 6 period (parameter).
 * Int32: 7 order (discrete input: event mode only). UInt64: 8 alarms, 9 visits to event mode.
 * Float64: 11 longest (parameter): longer steps are discarded.
 * Boolean: 10 silent (parameter): a step that ends at an alarm does not ask for event mode.
 * z is computed in initialization, in steps and in event mode, and the level moves in event mode only. The update of discrete
 * states asks for another round after an alarm. */
#include "fmi3.h"
#include "stubs.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double time, u, x, y, z, first, period, next, level, longest;
    int32_t order;
    uint64_t alarms, visits;
    bool silent, event_mode, initialized, in_event, again;
} Model;

static void outputs(Model *m) {
    m->y = m->x + m->level;
    m->z = 2 * m->u;
}
FMI_EXPORT const char *fmi3GetVersion(void) { return "3.0"; }
FMI_EXPORT fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, bool visible,
        bool logging, bool eventModeUsed, bool earlyReturnAllowed, const fmi3ValueReference required[], size_t nRequired,
        void *environment, fmi3LogMessage log, fmi3IntermediateUpdate update) {
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)earlyReturnAllowed;
    (void)required, (void)nRequired, (void)environment, (void)log, (void)update;
    Model *m = calloc(1, sizeof *m);
    m->first = m->period = 0.5;
    m->order = 1;
    m->longest = 1e300;
    m->event_mode = eventModeUsed;
    return m;
}
FMI_EXPORT void fmi3FreeInstance(fmi3Instance c) { free(c); }
FMI_EXPORT fmi3Status fmi3EnterInitializationMode(fmi3Instance c, bool td, double tol, double t0, bool sd, double t1) {
    Model *m = c;
    (void)td, (void)tol, (void)sd, (void)t1;
    m->time = t0;
    m->next = m->first;
    outputs(m);
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3ExitInitializationMode(fmi3Instance c) {
    Model *m = c;
    m->initialized = true;
    m->in_event = m->event_mode;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3EnterEventMode(fmi3Instance c) {
    Model *m = c;
    if (!m->event_mode || m->in_event) return fmi3Error;
    m->in_event = true;
    m->visits++;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, bool *again, bool *terminate, bool *nominals, bool *values,
                                               bool *hasNext, double *next) {
    Model *m = c;
    if (!m->in_event) return fmi3Error;
    *again = false;
    if (m->time >= m->next) {
        m->alarms++;
        m->level += 10 * m->order;
        m->next += m->period;
        *again = true;
    }
    m->again = *again;
    outputs(m);
    *terminate = *nominals = *values = false;
    *hasNext = true;
    *next = m->next;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3EnterStepMode(fmi3Instance c) {
    Model *m = c;
    if (!m->in_event || m->again) return fmi3Error;
    m->in_event = false;
    return fmi3OK;
}
NOTHING(fmi3Terminate)
FMI_EXPORT fmi3Status fmi3DoStep(fmi3Instance c, double t, double h, bool final, bool *event, bool *terminate, bool *early,
                                 double *last) {
    Model *m = c;
    (void)final;
    *event = *terminate = *early = false;
    /* An alarm that was reached is handled before the next step. */
    if (m->in_event || fabs(t - m->time) > 1e-9 || (m->event_mode && m->time >= m->next)) return fmi3Error;
    if (h > m->longest) {
        *last = t;
        return fmi3Discard;
    }
    m->x += h;
    m->time = *last = t + h;
    outputs(m);
    *event = m->event_mode && !m->silent && m->time >= m->next;
    return fmi3OK;
}
static double *place(Model *m, fmi3ValueReference r) {
    double *all[] = {&m->time, &m->u, &m->x, &m->y, &m->z, &m->first, &m->period};
    return r < 7 ? all[r] : r == 11 ? &m->longest : NULL;
}
FMI_EXPORT fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, const double v[], size_t nv) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) {
        if (n != nv || !place(m, r[k])) return fmi3Error;
        *place(m, r[k]) = v[k];
    }
    if (!m->initialized || m->in_event) outputs(m);
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, double v[], size_t nv) {
    for (size_t k = 0; k < n; k++) {
        if (n != nv || !place(c, r[k])) return fmi3Error;
        v[k] = *place(c, r[k]);
    }
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetInt32(fmi3Instance c, const fmi3ValueReference r[], size_t n, const int32_t v[], size_t nv) {
    Model *m = c;
    if (n != 1 || nv != 1 || r[0] != 7 || (m->initialized && m->event_mode && !m->in_event)) return fmi3Error;
    m->order = v[0];
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetInt32(fmi3Instance c, const fmi3ValueReference r[], size_t n, int32_t v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != 7) return fmi3Error;
    v[0] = ((Model *)c)->order;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetUInt64(fmi3Instance c, const fmi3ValueReference r[], size_t n, uint64_t v[], size_t nv) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) {
        if (n != nv || (r[k] != 8 && r[k] != 9)) return fmi3Error;
        v[k] = r[k] == 8 ? m->alarms : m->visits;
    }
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetBoolean(fmi3Instance c, const fmi3ValueReference r[], size_t n, const bool v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != 10) return fmi3Error;
    ((Model *)c)->silent = v[0];
    return fmi3OK;
}
GET_STATE(fmi3GetFMUState)
SET_STATE(fmi3SetFMUState)
FREE_STATE(fmi3FreeFMUState)

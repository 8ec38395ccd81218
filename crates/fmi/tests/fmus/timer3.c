/* An alarm clock: x' = rate, and the rate is the set point of the last event. FMI 3.0 with time events.
 * Float64: 1 setpoint (discrete input), 2 x (output), 3 first (parameter: the first alarm; it is told when initialization
 * ends), 4 period (tunable parameter: the time to the next alarm), 5 at (when the last event was). UInt64: 6 events.
 * 8 kept: how many states are kept, of all instances. Boolean: 7 silent (parameter): a step that ends at an alarm does not ask for event mode.
 * With event mode, the set point and the period may change in it only. */
#include "fmi3.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double setpoint, x, first, period, at, rate, time, next;
    uint64_t events;
    bool silent, event_mode, initialized, in_event;
} Model;

static uint64_t kept;

FMI_EXPORT const char *fmi3GetVersion(void) { return "3.0"; }
FMI_EXPORT fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, bool visible,
        bool logging, bool eventModeUsed, bool earlyReturnAllowed, const fmi3ValueReference required[], size_t nRequired,
        void *environment, fmi3LogMessage log, fmi3IntermediateUpdate update) {
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)earlyReturnAllowed;
    (void)required, (void)nRequired, (void)environment, (void)log, (void)update;
    Model *m = calloc(1, sizeof *m);
    m->setpoint = 1;
    m->first = 0.137;
    m->period = 0.25;
    m->event_mode = eventModeUsed;
    return m;
}
FMI_EXPORT void fmi3FreeInstance(fmi3Instance c) { free(c); }
FMI_EXPORT fmi3Status fmi3EnterInitializationMode(fmi3Instance c, bool td, double tol, double t0, bool sd, double t1) {
    Model *m = c;
    (void)td, (void)tol, (void)sd, (void)t1;
    m->time = t0;
    return fmi3OK;
}
static void happen(Model *m) {
    m->rate = m->setpoint;
    if (m->time >= m->next) {
        m->events++;
        m->at = m->time;
        m->next = m->time + m->period;
    }
}
FMI_EXPORT fmi3Status fmi3ExitInitializationMode(fmi3Instance c) {
    Model *m = c;
    m->next = m->first;
    m->rate = m->setpoint;
    m->initialized = true;
    m->in_event = m->event_mode;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3EnterEventMode(fmi3Instance c) {
    Model *m = c;
    if (!m->event_mode || m->in_event) return fmi3Error;
    m->in_event = true;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, bool *again, bool *terminate, bool *nominals, bool *values,
                                               bool *hasNext, double *next) {
    Model *m = c;
    if (!m->in_event) return fmi3Error;
    happen(m);
    *again = *terminate = *nominals = *values = false;
    *hasNext = true;
    *next = m->next;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3EnterStepMode(fmi3Instance c) {
    Model *m = c;
    if (!m->in_event) return fmi3Error;
    m->in_event = false;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3Terminate(fmi3Instance c) { (void)c; return fmi3OK; }
FMI_EXPORT fmi3Status fmi3DoStep(fmi3Instance c, double t, double h, bool final, bool *event, bool *terminate, bool *early,
                                 double *last) {
    Model *m = c;
    (void)final;
    *event = *terminate = *early = false;
    if (m->in_event || fabs(t - m->time) > 1e-9) return fmi3Error;
    m->x += m->rate * h;
    m->time = *last = t + h;
    if (!m->event_mode) happen(m);
    else *event = !m->silent && m->time >= m->next;
    return fmi3OK;
}
static double *place(Model *m, fmi3ValueReference r) {
    double *all[] = {&m->time, &m->setpoint, &m->x, &m->first, &m->period, &m->at};
    return r < 6 ? all[r] : NULL;
}
FMI_EXPORT fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, const double v[], size_t nv) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) {
        if (n != nv || !place(m, r[k]) || (m->initialized && m->event_mode && !m->in_event)) return fmi3Error;
        *place(m, r[k]) = v[k];
    }
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, double v[], size_t nv) {
    for (size_t k = 0; k < n; k++) {
        if (n != nv || !place(c, r[k])) return fmi3Error;
        v[k] = *place(c, r[k]);
    }
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetUInt64(fmi3Instance c, const fmi3ValueReference r[], size_t n, uint64_t v[], size_t nv) {
    for (size_t k = 0; k < n; k++) {
        if (n != nv || (r[k] != 6 && r[k] != 8)) return fmi3Error;
        v[k] = r[k] == 8 ? kept : ((Model *)c)->events;
    }
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetBoolean(fmi3Instance c, const fmi3ValueReference r[], size_t n, bool v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != 7) return fmi3Error;
    v[0] = ((Model *)c)->silent;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetBoolean(fmi3Instance c, const fmi3ValueReference r[], size_t n, const bool v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != 7) return fmi3Error;
    ((Model *)c)->silent = v[0];
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState *s) {
    if (!*s) {
        *s = malloc(sizeof(Model));
        kept++;
    }
    memcpy(*s, c, sizeof(Model));
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState s) { memcpy(c, s, sizeof(Model)); return fmi3OK; }
FMI_EXPORT fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState *s) {
    (void)c;
    if (*s) kept--;
    free(*s);
    *s = NULL;
    return fmi3OK;
}

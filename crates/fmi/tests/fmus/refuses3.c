/* x' = u, by the trapezoidal rule with its input inside the step where it may ask for it, and what it refuses. FMI 3.0.
 * Float64: 1 u (input), 2 x (output). Int32: 3 mode (parameter). From t = 0.5 s on the mode has it
 * 1 refuse inputs inside steps (fmi3Error)   2 likewise, fmi3Fatal   3 ask for inputs at a time that is not a number
 * 4 likewise far behind the step   5 discard saving its state   6 discard going back to it   7 refuse to leave Event Mode (fmi3Fatal)
 * 8 return early at the start of the step, with fmi3OK   9 return fmi3Warning from steps */
#include "fmi3.h"
#include "stubs.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double u, x, time;
    int32_t mode;
    bool in_step, event_mode;
    fmi3IntermediateUpdate update;
} Model;

static bool from_now_on(const Model *m, int mode) { return m->mode == mode && m->time > 0.5 - 1e-9; }

FMI_EXPORT const char *fmi3GetVersion(void) { return "3.0"; }
FMI_EXPORT fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, bool visible,
        bool logging, bool eventModeUsed, bool earlyReturnAllowed, const fmi3ValueReference required[], size_t nRequired,
        void *environment, fmi3LogMessage log, fmi3IntermediateUpdate update) {
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)earlyReturnAllowed;
    (void)required, (void)nRequired, (void)environment, (void)log;
    Model *m = calloc(1, sizeof *m);
    m->update = update;
    m->event_mode = eventModeUsed;
    return m;
}
FMI_EXPORT void fmi3FreeInstance(fmi3Instance c) { free(c); }
FMI_EXPORT fmi3Status fmi3EnterInitializationMode(fmi3Instance c, bool td, double tol, double t0, bool sd, double t1) {
    (void)td, (void)tol, (void)sd, (void)t1;
    ((Model *)c)->time = t0;
    return fmi3OK;
}
NOTHING(fmi3ExitInitializationMode)
NOTHING(fmi3Terminate)
NOTHING(fmi3EnterEventMode)
FMI_EXPORT fmi3Status fmi3EnterStepMode(fmi3Instance c) { return from_now_on(c, 7) ? fmi3Fatal : fmi3OK; }
FMI_EXPORT fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, bool *again, bool *terminate, bool *nominals, bool *values,
                                               bool *hasNext, double *next) {
    (void)c;
    *again = *terminate = *nominals = *values = *hasNext = false;
    *next = 0;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, const double v[], size_t nv) {
    Model *m = c;
    if (n != nv || (n > 0 && r[0] != 1)) return fmi3Error;
    if (m->in_step && from_now_on(m, 1)) return fmi3Error;
    if (m->in_step && from_now_on(m, 2)) return fmi3Fatal;
    if (n > 0) m->u = v[0];
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, double v[], size_t nv) {
    Model *m = c;
    if (n != nv) return fmi3Error;
    for (size_t i = 0; i < n; i++) v[i] = r[i] == 1 ? m->u : r[i] == 2 ? m->x : m->time;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetInt32(fmi3Instance c, const fmi3ValueReference r[], size_t n, const int32_t v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != 3) return fmi3Error;
    ((Model *)c)->mode = v[0];
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetInt32(fmi3Instance c, const fmi3ValueReference r[], size_t n, int32_t v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != 3) return fmi3Error;
    v[0] = ((Model *)c)->mode;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3DoStep(fmi3Instance c, double t, double h, bool final, bool *event, bool *terminate, bool *early,
                                 double *last) {
    Model *m = c;
    (void)final;
    *event = *terminate = *early = false;
    *last = t + h;
    if (from_now_on(m, 8)) {
        *early = true;
        *last = t - 0.2;
        return fmi3OK;
    }
    double first = m->u;
    if (m->update) {
        bool returns = false;
        double when = from_now_on(m, 3) ? NAN : from_now_on(m, 4) ? t + 1e9 : t + h;
        m->in_step = true;
        m->update(NULL, when, true, false, false, false, &returns, &when);
        m->in_step = false;
    }
    m->x += 0.5 * h * (first + m->u);
    bool warns = from_now_on(m, 9);
    m->time = t + h;
    *event = m->event_mode && from_now_on(m, 7);
    return warns ? fmi3Warning : fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetFMUState(fmi3Instance c, void **state) {
    if (from_now_on(c, 5)) return fmi3Discard;
    if (!*state) *state = malloc(sizeof(Model));
    memcpy(*state, c, sizeof(Model));
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetFMUState(fmi3Instance c, void *state) {
    if (from_now_on(c, 6)) return fmi3Discard;
    memcpy(c, state, sizeof(Model));
    return fmi3OK;
}
FREE_STATE(fmi3FreeFMUState)
STUB(fmi3Reset)
STUB(fmi3SetDebugLogging)

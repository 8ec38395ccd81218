/* x' = k u, held = d as it was at the start of the last step, and what users must hear of. FMI 2.0.
 * Reals: 0 u, 1 d (input, discrete), 2 x, 3 held, 4 refused (local: reading it is an error), 5 k (tunable), 6 given (gear as a number).
 * Integers: 9 mode, 10 gear (an item: 1, 4 or 9), 11 sets: how often d or k got another value. The mode chooses the fault:
 * 1 calls the logger with an environment of 0x1   2 fmi2Fatal at 0.5, and a thread that goes on logging   3 fmi2Error at 0.5 with a
 * word in a category that it does not declare   4 the same with orders for a terminal   5 ends the simulation at 0.55
 * 6 x is not a number from 0.5 on   7 refuses a step of another length than the first   8 says how to log */
#include "fmi2.h"
#include "stubs.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <pthread.h>
#include <unistd.h>
#endif

typedef struct {
    double u, d, x, held, k, time, first;
    int mode, gear, sets, logging, categories, wanted;
    const fmi2Callbacks *calls;
    char name[64];
} Model;

#ifndef _WIN32
static void *log_for_ever(void *model) {
    Model *m = model;
    for (;;) {
        m->calls->logger(m->calls->environment, m->name, fmi2OK, "thread", "still here");
        usleep(50);
    }
    return NULL;
}
static void leave_thread(Model *m) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, log_for_ever, m) == 0) pthread_detach(thread);
}
#else
static void leave_thread(Model *m) { (void)m; }
#endif

FMI_EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
FMI_EXPORT const char *fmi2GetVersion(void) { return "2.0"; }
FMI_EXPORT fmi2Component fmi2Instantiate(fmi2String name, int kind, fmi2String guid, fmi2String resources,
                                         const fmi2Callbacks *calls, fmi2Boolean visible, fmi2Boolean logging) {
    (void)kind, (void)guid, (void)resources, (void)visible;
    Model *m = calloc(1, sizeof *m);
    /* A pointer, as the standard has it: it lives as long as the instance. */
    m->calls = calls;
    m->logging = logging;
    m->k = 1;
    m->gear = 1;
    strncpy(m->name, name, sizeof m->name - 1);
    return m;
}
FMI_EXPORT void fmi2FreeInstance(fmi2Component c) { free(c); }
FMI_EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[]) {
    Model *m = c;
    m->logging = on;
    m->categories = (int)n;
    m->wanted = 0;
    for (size_t k = 0; k < n; k++) m->wanted |= strcmp(categories[k], "secret") == 0;
    return fmi2OK;
}
static void say(Model *m, fmi2Status status, fmi2String message) {
    if (m->logging && (m->categories == 0 || m->wanted))
        m->calls->logger(m->calls->environment, m->name, status, "secret", message);
}
FMI_EXPORT fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean td, double tol, double t0, fmi2Boolean sd, double t1) {
    (void)td, (void)tol, (void)sd, (void)t1;
    ((Model *)c)->time = t0;
    return fmi2OK;
}
NOTHING(fmi2EnterInitializationMode)
NOTHING(fmi2ExitInitializationMode)
NOTHING(fmi2Terminate)
STUB(fmi2Reset)
FMI_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, double v[]) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) {
        double x = m->mode == 6 && m->time > 0.5 ? NAN : m->x;
        double all[] = {m->u, m->d, x, m->held, 0, m->k, m->gear};
        if (r[i] == 4 || r[i] > 6) return fmi2Error;
        v[i] = all[r[i]];
    }
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, const double v[]) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) {
        double *all[] = {&m->u, &m->d, NULL, NULL, NULL, &m->k};
        if (r[i] > 5 || !all[r[i]]) return fmi2Error;
        m->sets += r[i] > 0 && *all[r[i]] != v[i];
        *all[r[i]] = v[i];
    }
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, const int v[]) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) {
        if (r[i] == 9) m->mode = v[i];
        else if (r[i] == 10 && (v[i] == 1 || v[i] == 4 || v[i] == 9)) m->gear = v[i];
        else return fmi2Error;
    }
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, int v[]) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) v[i] = r[i] == 9 ? m->mode : r[i] == 10 ? m->gear : m->sets;
    return fmi2OK;
}
STUB(fmi2GetBoolean)
STUB(fmi2SetBoolean)
STUB(fmi2GetString)
STUB(fmi2SetString)
STUB(fmi2GetFMUstate)
STUB(fmi2SetFMUstate)
STUB(fmi2FreeFMUstate)
STUB(fmi2SerializedFMUstateSize)
STUB(fmi2SerializeFMUstate)
STUB(fmi2DeSerializeFMUstate)
STUB(fmi2GetDirectionalDerivative)
STUB(fmi2SetRealInputDerivatives)
STUB(fmi2GetRealOutputDerivatives)
STUB(fmi2CancelStep)
STUB(fmi2GetStringStatus)
STUB(fmi2GetIntegerStatus)
STUB(fmi2GetStatus)
FMI_EXPORT fmi2Status fmi2GetRealStatus(fmi2Component c, fmi2StatusKind kind, double *v) {
    if (kind != fmi2LastSuccessfulTime) return fmi2Discard;
    *v = ((Model *)c)->time;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetBooleanStatus(fmi2Component c, fmi2StatusKind kind, fmi2Boolean *v) {
    if (kind != fmi2Terminated) return fmi2Discard;
    *v = ((Model *)c)->mode == 5;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2DoStep(fmi2Component c, double t, double h, fmi2Boolean final) {
    Model *m = c;
    (void)final;
    int late = t + h > 0.5 + 1e-9;
    if (m->first == 0) m->first = h;
    switch (m->mode) {
    case 1: m->calls->logger((void *)1, m->name, fmi2Warning, "hostile", "step from %g", t); break;
    case 2:
        if (late) {
            leave_thread(m);
            return fmi2Fatal;
        }
        break;
    case 3: if (late) { say(m, fmi2Error, "the bearing broke"); return fmi2Error; } break;
    case 4: if (late) { say(m, fmi2Error, "\x1b[2J\x1b]0;owned\x07 the bearing broke"); return fmi2Error; } break;
    case 5:
        if (t + h > 0.55 + 1e-9) {
            m->x += m->k * m->u * (0.55 - t);
            m->held = m->d;
            m->time = 0.55;
            return fmi2Discard;
        }
        break;
    case 7: if (fabs(h - m->first) > 1e-9) return fmi2Error; break;
    case 8: say(m, fmi2OK, "logging"); break;
    }
    m->x += m->k * m->u * h;
    m->held = m->d;
    m->time = t + h;
    return fmi2OK;
}

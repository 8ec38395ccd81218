/* x' = u, computed by a thread of its own: a step returns at once and is pending until the thread is done. It discards what
 * goes beyond t = 0.55 once, with its last successful time, and it prints what it does. FMI 2.0.
 * References: 0 u, 1 x. */
#include "fmi2.h"
#include "stubs.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
    double v[2], t, h, last;
    pthread_t thread;
    int running, discarded;
    atomic_int status;
} Model;

static void *work(void *c) {
    Model *m = c;
    struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
    int discards = !m->discarded && m->t + m->h > 0.55 + 1e-9;
    double h = discards ? 0.55 - m->t : m->h;
    m->v[1] += m->v[0] * h;
    m->last = m->t + h;
    m->discarded |= discards;
    atomic_store(&m->status, discards ? fmi2Discard : fmi2OK);
    return NULL;
}
FMI_EXPORT fmi2Component fmi2Instantiate(fmi2String name, int kind, fmi2String guid, fmi2String resources,
                                         const fmi2Callbacks *calls, fmi2Boolean visible, fmi2Boolean logging) {
    (void)kind, (void)guid, (void)resources, (void)calls, (void)visible, (void)logging;
    printf("{\"hello\": \"%s\"}\n", name);
    return calloc(1, sizeof(Model));
}
FMI_EXPORT void fmi2FreeInstance(fmi2Component c) { free(c); }
NOTHING(fmi2SetupExperiment)
NOTHING(fmi2EnterInitializationMode)
NOTHING(fmi2ExitInitializationMode)
FMI_EXPORT fmi2Status fmi2Terminate(fmi2Component c) {
    (void)c;
    printf("goodbye, without an end of line");
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2DoStep(fmi2Component c, double t, double h, fmi2Boolean final) {
    Model *m = c;
    (void)final;
    printf("step from %g\n", t);
    m->t = t;
    m->h = h;
    atomic_store(&m->status, fmi2Pending);
    m->running = 1;
    return pthread_create(&m->thread, NULL, work, m) == 0 ? fmi2Pending : fmi2Error;
}
FMI_EXPORT fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *status) {
    Model *m = c;
    if (kind != fmi2DoStepStatus || !m->running) return fmi2Discard;
    *status = (fmi2Status)atomic_load(&m->status);
    if (*status != fmi2Pending) {
        pthread_join(m->thread, NULL);
        m->running = 0;
    }
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, double *value) {
    if (kind != fmi2LastSuccessfulTime) return fmi2Discard;
    *value = ((Model *)c)->last;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, const double v[]) {
    Model *m = c;
    if (m->running) return fmi2Error;
    for (size_t k = 0; k < n; k++) m->v[r[k]] = v[k];
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, double v[]) {
    Model *m = c;
    if (m->running) return fmi2Error;
    for (size_t k = 0; k < n; k++) v[k] = m->v[r[k]];
    return fmi2OK;
}

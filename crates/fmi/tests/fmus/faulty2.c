/* x' = u, and what real FMUs do wrong. FMI 2.0; the parameter `mode` (integer, reference 9) chooses the fault:
 * 1 discards beyond t = 0.25 once, with its last successful time   2 discards steps longer than 0.1 without a time
 * 3 discards for ever   4 reports a time before the step   5 returns a NaN   6 fmi2Error at 0.5   7 fmi2Fatal at 0.5
 * 8 status 42 at 0.5   9 warns at every step   10 logs with formats that do not fit   11 asks to terminate at 0.5
 * 12 fmi2Pending   13 logs 20 000 lines   14 fails to terminate   15 error in initialization
 * 16 rounds upwards and flushes denormals   17 calls exit(0) at 0.5   18 goes to another folder in initialization
 * 19 does so in every step   20 leaves a thread behind that runs for ever */
#include "fmi2.h"
#include "stubs.h"
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <pthread.h>
#include <unistd.h>
static void *run_for_ever(void *nothing) {
    for (;;) usleep(100);
    return nothing;
}
static void leave_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_for_ever, NULL) == 0) pthread_detach(thread);
}
static void leave_folder(void) {
    if (chdir("/") != 0) abort();
}
#else
static void leave_thread(void) {}
static void leave_folder(void) {}
#endif

typedef struct {
    double u, x, time, last;
    int mode, terminated, done;
    fmi2Callbacks calls;
    char name[64];
} Model;

FMI_EXPORT fmi2Component fmi2Instantiate(fmi2String name, int kind, fmi2String guid, fmi2String resources,
                                         const fmi2Callbacks *calls, fmi2Boolean visible, fmi2Boolean logging) {
    (void)kind, (void)guid, (void)resources, (void)visible, (void)logging;
    Model *m = calloc(1, sizeof *m);
    m->calls = *calls;
    strncpy(m->name, name, sizeof m->name - 1);
    return m;
}
FMI_EXPORT void fmi2FreeInstance(fmi2Component c) {
    /* A second free, or one after a fatal error, must not come here. */
    if (((Model *)c)->mode == 7) abort();
    free(c);
}
FMI_EXPORT fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean td, double tol, double t0, fmi2Boolean sd, double t1) {
    (void)td, (void)tol, (void)sd, (void)t1;
    ((Model *)c)->time = t0;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
    int mode = ((Model *)c)->mode;
    if (mode == 18) leave_folder();
    if (mode == 20) leave_thread();
    return mode == 15 ? fmi2Error : fmi2OK;
}
NOTHING(fmi2ExitInitializationMode)
FMI_EXPORT fmi2Status fmi2Terminate(fmi2Component c) { return ((Model *)c)->mode == 14 ? fmi2Error : fmi2OK; }
FMI_EXPORT fmi2Status fmi2Reset(fmi2Component c) {
    Model *m = c;
    m->u = m->x = m->time = 0;
    m->terminated = m->done = 0;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, double v[]) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) v[i] = r[i] == 0 ? m->u : m->mode == 5 && m->time > 0.5 ? NAN : m->x;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, const double v[]) {
    for (size_t i = 0; i < n; i++)
        if (r[i] == 0) ((Model *)c)->u = v[i];
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, const int v[]) {
    for (size_t i = 0; i < n; i++)
        if (r[i] == 9) ((Model *)c)->mode = v[i];
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, int v[]) {
    for (size_t i = 0; i < n; i++) v[i] = r[i] == 9 ? ((Model *)c)->mode : 0;
    return fmi2OK;
}

static fmi2Status discard(Model *m, double reached) {
    m->x += m->u * (reached - m->time);
    m->time = m->last = reached;
    return fmi2Discard;
}

FMI_EXPORT fmi2Status fmi2DoStep(fmi2Component c, double t, double h, fmi2Boolean final) {
    Model *m = c;
    (void)final;
    fmi2Logger log = m->calls.logger;
    void *env = m->calls.environment;
    if (fabs(t - m->time) > 1e-9) {
        log(env, m->name, fmi2Error, "time", "step from %g, but it is %g", t, m->time);
        return fmi2Error;
    }
    fmi2Status status = fmi2OK;
    int late = t + h > 0.5 + 1e-9;
    switch (m->mode) {
    case 1: if (!m->done && t + h > 0.25 + 1e-9) { m->done = 1; return discard(m, 0.25); } break;
    case 2: if (h > 0.1 + 1e-9) { m->last = -1; return fmi2Discard; } break;
    case 3: if (late) return discard(m, m->time); break;
    case 4: if (late) { m->last = t - 1; return fmi2Discard; } break;
    case 6: if (late) { log(env, m->name, fmi2Error, "solver", "the solver failed at %g", t); return fmi2Error; } break;
    case 7: if (late) return fmi2Fatal; break;
    case 8: if (late) return (fmi2Status)42; break;
    case 9: status = fmi2Warning; break;
    case 10:
        log(env, m->name, fmi2OK, "odd", "100% sure");
        log(env, m->name, fmi2OK, NULL, "%s %s %n %d %q %");
        log(env, (char *)8, fmi2OK, (char *)16, (char *)24);
        log(env, m->name, fmi2OK, "odd", "%s", (char *)32);
        log(env, m->name, fmi2OK, "odd", "%-5d|%5.2f|%s|%x|%lld|%zu", 7, 2.5, "text", 255, 1LL << 40, (size_t)3);
        break;
    case 11: if (late) { m->terminated = 1; return discard(m, m->time); } break;
    case 12: if (late) return fmi2Pending; break;
    case 13: for (int i = 0; i < 20000; i++) log(env, m->name, fmi2OK, "chatter", "line %d", i); break;
    case 17: if (late) exit(0); break;
    case 19: leave_folder(); break;
    case 16:
        fesetround(FE_UPWARD);
#ifdef __SSE__
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
        break;
    }
    m->x += m->u * h;
    m->time = t + h;
    return status;
}
FMI_EXPORT fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, double *value) {
    Model *m = c;
    if (kind != fmi2LastSuccessfulTime || m->mode == 2) return fmi2Discard;
    *value = m->last;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value) {
    *value = ((Model *)c)->terminated;
    return kind == fmi2Terminated ? fmi2OK : fmi2Discard;
}
GET_STATE(fmi2GetFMUstate)
FMI_EXPORT fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate s) {
    int done = ((Model *)c)->done;
    memcpy(c, s, sizeof(Model));
    ((Model *)c)->done = done;
    return fmi2OK;
}
FREE_STATE(fmi2FreeFMUstate)

/* x' = u, FMI 1.0 for co-simulation, in whose second and later instances a segmentation fault waits: in the call that the environment
 * variable TRAP1 names (`initialize`, `step`, `terminate` or `free`). References: Real 0 u, 1 x. */
#include "fmi1.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    double v[2];
    int number;
} Model;

static int instances;

static void spring(const Model *m, const char *place) {
    const char *wanted = getenv("TRAP1");
    if (m->number > 1 && wanted && strcmp(wanted, place) == 0) *(volatile int *)0 = 0;
}

FMI_EXPORT void *trap1_fmiInstantiateSlave(const char *name, const char *guid, const char *location, const char *mime,
                                           double timeout, char visible, char interactive, Callbacks calls, char logging) {
    (void)name, (void)guid, (void)location, (void)mime, (void)timeout, (void)visible, (void)interactive, (void)calls, (void)logging;
    Model *m = calloc(1, sizeof *m);
    m->number = ++instances;
    return m;
}
FMI_EXPORT void trap1_fmiFreeSlaveInstance(void *c) {
    spring(c, "free");
    free(c);
}
FMI_EXPORT int trap1_fmiInitializeSlave(void *c, double start, char hasStop, double stop) {
    (void)start, (void)hasStop, (void)stop;
    spring(c, "initialize");
    return 0;
}
FMI_EXPORT int trap1_fmiTerminateSlave(void *c) {
    spring(c, "terminate");
    return 0;
}
FMI_EXPORT int trap1_fmiGetReal(void *c, const unsigned r[], size_t n, double v[]) {
    for (size_t i = 0; i < n; i++) v[i] = ((Model *)c)->v[r[i]];
    return 0;
}
FMI_EXPORT int trap1_fmiSetReal(void *c, const unsigned r[], size_t n, const double v[]) {
    for (size_t i = 0; i < n; i++) ((Model *)c)->v[r[i]] = v[i];
    return 0;
}
FMI_EXPORT int trap1_fmiDoStep(void *c, double t, double h, char newStep) {
    Model *m = c;
    (void)t, (void)newStep;
    spring(m, "step");
    m->v[1] += m->v[0] * h;
    return 0;
}

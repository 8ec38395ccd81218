/* x' = u, where a step goes on in the background until its status was asked for three times. FMI 1.0 for co-simulation.
 * References: Real 0 u, 1 x. The end of the step shows in x and in the status only. */
#include "fmi1.h"
#include "stubs.h"
#include <stdlib.h>

enum { OK, DISCARD = 2, ERROR = 3, PENDING = 5 };

typedef struct {
    double v[2], h;
    int left;
} Model;

FMI_EXPORT void *async1_fmiInstantiateSlave(const char *name, const char *guid, const char *location, const char *mime,
                                            double timeout, char visible, char interactive, Callbacks calls, char logging) {
    (void)name, (void)guid, (void)location, (void)mime, (void)timeout, (void)visible, (void)interactive, (void)logging;
    (void)calls;
    return calloc(1, sizeof(Model));
}
FMI_EXPORT void async1_fmiFreeSlaveInstance(void *c) { free(c); }
NOTHING(async1_fmiInitializeSlave)
NOTHING(async1_fmiTerminateSlave)
FMI_EXPORT int async1_fmiGetReal(void *c, const unsigned r[], size_t n, double v[]) {
    if (((Model *)c)->left) return ERROR;
    for (size_t i = 0; i < n; i++) v[i] = ((Model *)c)->v[r[i]];
    return OK;
}
FMI_EXPORT int async1_fmiSetReal(void *c, const unsigned r[], size_t n, const double v[]) {
    if (((Model *)c)->left) return ERROR;
    for (size_t i = 0; i < n; i++) ((Model *)c)->v[r[i]] = v[i];
    return OK;
}
FMI_EXPORT int async1_fmiDoStep(void *c, double t, double h, char newStep) {
    Model *m = c;
    (void)t, (void)newStep;
    m->h = h;
    m->left = 3;
    return PENDING;
}
FMI_EXPORT int async1_fmiGetStatus(void *c, int kind, int *status) {
    Model *m = c;
    if (kind != 0 || !m->left) return DISCARD;
    *status = --m->left ? PENDING : OK;
    if (!m->left) m->v[1] += m->v[0] * m->h;
    return OK;
}

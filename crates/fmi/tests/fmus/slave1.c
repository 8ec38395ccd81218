/* x' = u with a count of steps, FMI 1.0 for co-simulation. References: Real 0 u, 1 x, 2 k; Integer 0 steps; Boolean 0 on. */
#include "fmi1.h"
#include "stubs.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    double v[3];
    int steps;
    char on;
    Callbacks calls;
} Model;

FMI_EXPORT const char *slave1_fmiGetTypesPlatform(void) { return "standard32"; }
FMI_EXPORT const char *slave1_fmiGetVersion(void) { return "1.0"; }
FMI_EXPORT void *slave1_fmiInstantiateSlave(const char *name, const char *guid, const char *location, const char *mime,
                                            double timeout, char visible, char interactive, Callbacks calls, char logging) {
    (void)location, (void)mime, (void)timeout, (void)visible, (void)interactive, (void)logging;
    if (strcmp(guid, "{slave}") != 0) {
        calls.logger(NULL, name, 3, "error", "%s has the wrong guid", name);
        return NULL;
    }
    Model *m = calls.allocateMemory(1, sizeof *m);
    m->calls = calls;
    m->v[2] = 1;
    m->on = 1;
    return m;
}
FMI_EXPORT void slave1_fmiFreeSlaveInstance(void *c) { ((Model *)c)->calls.freeMemory(c); }
NOTHING(slave1_fmiInitializeSlave)
NOTHING(slave1_fmiTerminateSlave)
FMI_EXPORT int slave1_fmiResetSlave(void *c) {
    Model *m = c;
    memset(m->v, 0, sizeof m->v);
    m->v[2] = 1;
    m->steps = 0;
    m->on = 1;
    return 0;
}
NOTHING(slave1_fmiSetDebugLogging)
FMI_EXPORT int slave1_fmiGetReal(void *c, const unsigned r[], size_t n, double v[]) {
    for (size_t i = 0; i < n; i++) v[i] = ((Model *)c)->v[r[i]];
    return 0;
}
FMI_EXPORT int slave1_fmiSetReal(void *c, const unsigned r[], size_t n, const double v[]) {
    for (size_t i = 0; i < n; i++) ((Model *)c)->v[r[i]] = v[i];
    return 0;
}
FMI_EXPORT int slave1_fmiGetInteger(void *c, const unsigned r[], size_t n, int v[]) {
    for (size_t i = 0; i < n; i++) v[i] = r[i] == 0 ? ((Model *)c)->steps : 0;
    return 0;
}
STUB(slave1_fmiSetInteger)
FMI_EXPORT int slave1_fmiGetBoolean(void *c, const unsigned r[], size_t n, char v[]) {
    for (size_t i = 0; i < n; i++) v[i] = r[i] == 0 ? ((Model *)c)->on : 0;
    return 0;
}
FMI_EXPORT int slave1_fmiSetBoolean(void *c, const unsigned r[], size_t n, const char v[]) {
    for (size_t i = 0; i < n; i++) if (r[i] == 0) ((Model *)c)->on = v[i];
    return 0;
}
STUB(slave1_fmiGetString)
STUB(slave1_fmiSetString)
STUB(slave1_fmiSetRealInputDerivatives)
STUB(slave1_fmiGetRealOutputDerivatives)
FMI_EXPORT int slave1_fmiDoStep(void *c, double t, double h, char newStep) {
    Model *m = c;
    (void)t, (void)newStep;
    if (m->on) m->v[1] += m->v[2] * m->v[0] * h;
    m->steps++;
    return 0;
}
STUB(slave1_fmiCancelStep)
FMI_EXPORT int slave1_fmiGetStatus(void *c, int kind, int *v) { (void)c, (void)kind, (void)v; return 2; }
FMI_EXPORT int slave1_fmiGetRealStatus(void *c, int kind, double *v) { (void)c, (void)kind, (void)v; return 2; }
FMI_EXPORT int slave1_fmiGetIntegerStatus(void *c, int kind, int *v) { (void)c, (void)kind, (void)v; return 2; }
FMI_EXPORT int slave1_fmiGetBooleanStatus(void *c, int kind, char *v) { (void)c, (void)kind, (void)v; return 2; }
FMI_EXPORT int slave1_fmiGetStringStatus(void *c, int kind, const char **v) { (void)c, (void)kind, (void)v; return 2; }

/* x = u + 10 i + 100 b + 1000 (length of s), computed in fmiInitializeSlave and never again. FMI 1.0.
 * Real 0 u, 1 x, 2 d: how long one step was; Integer 0 i; Boolean 0 b; String 0 s. */
#include "fmi1.h"
#include "stubs.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    double u, x, d;
    int i, initialized;
    char b, s[32];
} Model;

FMI_EXPORT const char *init1_fmiGetTypesPlatform(void) { return "standard32"; }
FMI_EXPORT const char *init1_fmiGetVersion(void) { return "1.0"; }
FMI_EXPORT void *init1_fmiInstantiateSlave(const char *name, const char *guid, const char *location, const char *mime,
                                           double timeout, char visible, char interactive, Callbacks calls, char logging) {
    (void)name, (void)guid, (void)location, (void)mime, (void)timeout, (void)visible, (void)interactive;
    (void)calls, (void)logging;
    return calloc(1, sizeof(Model));
}
FMI_EXPORT void init1_fmiFreeSlaveInstance(void *c) { free(c); }
FMI_EXPORT int init1_fmiInitializeSlave(void *c, double start, char defined, double stop) {
    Model *m = c;
    (void)start, (void)defined, (void)stop;
    if (m->initialized) return 3;
    m->initialized = 1;
    m->x = m->u + 10 * m->i + 100 * m->b + 1000 * (double)strlen(m->s);
    return 0;
}
NOTHING(init1_fmiTerminateSlave)
STUB(init1_fmiResetSlave)
NOTHING(init1_fmiSetDebugLogging)
FMI_EXPORT int init1_fmiGetReal(void *c, const unsigned r[], size_t n, double v[]) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) v[k] = r[k] == 0 ? m->u : r[k] == 1 ? m->x : m->d;
    return 0;
}
FMI_EXPORT int init1_fmiSetReal(void *c, const unsigned r[], size_t n, const double v[]) {
    for (size_t k = 0; k < n; k++) if (r[k] == 0) ((Model *)c)->u = v[k];
    return 0;
}
FMI_EXPORT int init1_fmiGetInteger(void *c, const unsigned r[], size_t n, int v[]) {
    for (size_t k = 0; k < n; k++) v[k] = r[k] == 0 ? ((Model *)c)->i : 0;
    return 0;
}
FMI_EXPORT int init1_fmiSetInteger(void *c, const unsigned r[], size_t n, const int v[]) {
    for (size_t k = 0; k < n; k++) if (r[k] == 0) ((Model *)c)->i = v[k];
    return 0;
}
FMI_EXPORT int init1_fmiGetBoolean(void *c, const unsigned r[], size_t n, char v[]) {
    for (size_t k = 0; k < n; k++) v[k] = r[k] == 0 ? ((Model *)c)->b : 0;
    return 0;
}
FMI_EXPORT int init1_fmiSetBoolean(void *c, const unsigned r[], size_t n, const char v[]) {
    for (size_t k = 0; k < n; k++) if (r[k] == 0) ((Model *)c)->b = v[k];
    return 0;
}
FMI_EXPORT int init1_fmiGetString(void *c, const unsigned r[], size_t n, const char *v[]) {
    for (size_t k = 0; k < n; k++) v[k] = r[k] == 0 ? ((Model *)c)->s : "";
    return 0;
}
FMI_EXPORT int init1_fmiSetString(void *c, const unsigned r[], size_t n, const char *const v[]) {
    for (size_t k = 0; k < n; k++) if (r[k] == 0) strncpy(((Model *)c)->s, v[k], 31);
    return 0;
}
STUB(init1_fmiSetRealInputDerivatives)
STUB(init1_fmiGetRealOutputDerivatives)
FMI_EXPORT int init1_fmiDoStep(void *c, double t, double h, char newStep) {
    (void)t, (void)newStep;
    ((Model *)c)->d = h;
    return 0;
}
STUB(init1_fmiCancelStep)
FMI_EXPORT int init1_fmiGetStatus(void *c, int kind, int *v) { (void)c, (void)kind, (void)v; return 2; }
FMI_EXPORT int init1_fmiGetRealStatus(void *c, int kind, double *v) { (void)c, (void)kind, (void)v; return 2; }
FMI_EXPORT int init1_fmiGetIntegerStatus(void *c, int kind, int *v) { (void)c, (void)kind, (void)v; return 2; }
FMI_EXPORT int init1_fmiGetBooleanStatus(void *c, int kind, char *v) { (void)c, (void)kind, (void)v; return 2; }
FMI_EXPORT int init1_fmiGetStringStatus(void *c, int kind, const char **v) { (void)c, (void)kind, (void)v; return 2; }

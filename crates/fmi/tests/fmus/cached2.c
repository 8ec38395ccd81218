/* y = 2 u, computed in initialization and in steps only: what is set afterwards shows after the next step. FMI 2.0. */
#include "fmi2.h"
#include "stubs.h"
#include <stdlib.h>

typedef struct {
    double u, y;
    int stepping;
} Model;

FMI_EXPORT fmi2Component fmi2Instantiate(fmi2String name, int kind, fmi2String guid, fmi2String resources,
                                         const fmi2Callbacks *calls, fmi2Boolean visible, fmi2Boolean logging) {
    (void)name, (void)kind, (void)guid, (void)resources, (void)calls, (void)visible, (void)logging;
    return calloc(1, sizeof(Model));
}
FMI_EXPORT void fmi2FreeInstance(fmi2Component c) { free(c); }
NOTHING(fmi2SetupExperiment)
NOTHING(fmi2EnterInitializationMode)
NOTHING(fmi2ExitInitializationMode)
NOTHING(fmi2Terminate)
FMI_EXPORT fmi2Status fmi2DoStep(fmi2Component c, double t, double h, fmi2Boolean final) {
    Model *m = c;
    (void)t, (void)h, (void)final;
    m->stepping = 1;
    m->y = 2 * m->u;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, const double v[]) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) {
        if (r[k] != 0) return fmi2Error;
        m->u = v[k];
    }
    if (!m->stepping) m->y = 2 * m->u;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, double v[]) {
    for (size_t k = 0; k < n; k++) v[k] = r[k] ? ((Model *)c)->y : ((Model *)c)->u;
    return fmi2OK;
}

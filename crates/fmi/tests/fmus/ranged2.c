/* y = gain · (u + 2 v + w), n = i + 10 g + 100 b. FMI 2.0. A value outside its range is an error.
 * Reals: 0 u in 0.9995..1, 1 v in 0..5, 2 w in 3..3, 3 y, 4 gain. Integers: 5 i in 0..3, 6 g (an item: 1, 4 or 9), 7 n.
 * Booleans: 8 b. Integers: 9 moody (parameter): 1: u may not change any more after a step; 2: in initialization.
 * What inputs were given to any instance is kept by the library: reals 10 to 15, least and largest of u, v, w; integers 16 how many
 * values of the items were no item. */
#include "fmi2.h"
#include "stubs.h"
#include <math.h>
#include <stdlib.h>

typedef struct {
    double u, v, w, gain;
    int i, g, b, moody, initializing, stepping;
} Model;

static double least[3] = {INFINITY, INFINITY, INFINITY}, largest[3] = {-INFINITY, -INFINITY, -INFINITY};
static int strange;

FMI_EXPORT fmi2Component fmi2Instantiate(fmi2String name, int kind, fmi2String guid, fmi2String resources,
                                         const fmi2Callbacks *calls, fmi2Boolean visible, fmi2Boolean logging) {
    (void)name, (void)kind, (void)guid, (void)resources, (void)calls, (void)visible, (void)logging;
    Model *m = calloc(1, sizeof *m);
    *m = (Model){.u = 1, .v = 5, .w = 3, .gain = 1, .i = 3, .g = 9};
    return m;
}
FMI_EXPORT void fmi2FreeInstance(fmi2Component c) { free(c); }
NOTHING(fmi2SetupExperiment)
FMI_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
    ((Model *)c)->initializing = 1;
    return fmi2OK;
}
NOTHING(fmi2ExitInitializationMode)
NOTHING(fmi2Terminate)
FMI_EXPORT fmi2Status fmi2DoStep(fmi2Component c, double t, double h, fmi2Boolean final) {
    (void)t, (void)h, (void)final;
    ((Model *)c)->stepping = 1;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, const double v[]) {
    static const double min[] = {0.9995, 0, 3}, max[] = {1, 5, 3};
    Model *m = c;
    for (size_t k = 0; k < n; k++) {
        if (r[k] == 4) {
            m->gain = v[k];
            continue;
        }
        if (r[k] > 2) return fmi2Error;
        if (v[k] < least[r[k]]) least[r[k]] = v[k];
        if (v[k] > largest[r[k]]) largest[r[k]] = v[k];
        int too_late = (m->moody == 1 && m->stepping) || (m->moody == 2 && m->initializing);
        if (!(v[k] >= min[r[k]] && v[k] <= max[r[k]]) || (r[k] == 0 && v[k] != m->u && too_late)) return fmi2Error;
        *(r[k] == 0 ? &m->u : r[k] == 1 ? &m->v : &m->w) = v[k];
    }
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, double v[]) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) {
        double y = m->gain * (m->u + 2 * m->v + m->w);
        double all[] = {m->u, m->v, m->w, y, m->gain, 0, 0, 0, 0, 0, least[0], largest[0], least[1], largest[1], least[2], largest[2]};
        if (r[k] > 15) return fmi2Error;
        v[k] = all[r[k]];
    }
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, const int v[]) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) {
        if (r[k] == 5 && v[k] >= 0 && v[k] <= 3) m->i = v[k];
        else if (r[k] == 6 && (v[k] == 1 || v[k] == 4 || v[k] == 9)) m->g = v[k];
        else if (r[k] == 9) m->moody = v[k];
        else {
            strange++;
            return fmi2Error;
        }
    }
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, int v[]) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) {
        switch (r[k]) {
        case 5: v[k] = m->i; break;
        case 6: v[k] = m->g; break;
        case 7: v[k] = m->i + 10 * m->g + 100 * m->b; break;
        case 16: v[k] = strange; break;
        default: return fmi2Error;
        }
    }
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Boolean v[]) {
    if (n != 1 || r[0] != 8) return fmi2Error;
    ((Model *)c)->b = v[0];
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2Boolean v[]) {
    if (n != 1 || r[0] != 8) return fmi2Error;
    v[0] = ((Model *)c)->b;
    return fmi2OK;
}

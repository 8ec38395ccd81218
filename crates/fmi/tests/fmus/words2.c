/* Says its name and how many steps it made, and counts on what it hears: FMI 2.0 with texts as inputs and outputs.
 * Strings: 0 heard (input), 1 said (output), 2 name (parameter). Integers: 0 the number at the end of what it heard when
 * its last step began (-1: none), 1 how many times a text was set. */
#include "fmi2.h"
#include "stubs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char heard[8192], said[8192], name[64];
    int steps, number, sets;
} Model;

static void listen(Model *m) {
    const char *space = strrchr(m->heard, ' ');
    m->number = space ? atoi(space + 1) : -1;
}
FMI_EXPORT fmi2Component fmi2Instantiate(fmi2String name, int kind, fmi2String guid, fmi2String resources,
                                         const fmi2Callbacks *calls, fmi2Boolean visible, fmi2Boolean logging) {
    (void)name, (void)kind, (void)guid, (void)resources, (void)calls, (void)visible, (void)logging;
    Model *m = calloc(1, sizeof *m);
    strcpy(m->name, "somebody");
    return m;
}
FMI_EXPORT void fmi2FreeInstance(fmi2Component c) { free(c); }
NOTHING(fmi2SetupExperiment)
FMI_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component c) { listen(c); return fmi2OK; }
FMI_EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component c) { listen(c); return fmi2OK; }
NOTHING(fmi2Terminate)
FMI_EXPORT fmi2Status fmi2DoStep(fmi2Component c, double t, double h, fmi2Boolean final) {
    (void)t, (void)h, (void)final;
    ((Model *)c)->steps++;
    listen(c);
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, const double v[]) {
    (void)c, (void)r, (void)v;
    return n ? fmi2Error : fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, double v[]) {
    for (size_t k = 0; k < n; k++) v[k] = r[k] == 0 ? ((Model *)c)->steps : 0;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, int v[]) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) v[k] = r[k] ? m->sets : m->number;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2String v[]) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) {
        if (r[k] == 2) strncpy(m->name, v[k], sizeof m->name - 1);
        else if (r[k] == 0) { strncpy(m->heard, v[k], sizeof m->heard - 1); m->sets++; }
        else return fmi2Error;
    }
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2String v[]) {
    Model *m = c;
    snprintf(m->said, sizeof m->said, "%s %d", m->name, m->steps);
    for (size_t k = 0; k < n; k++) v[k] = r[k] == 0 ? m->heard : r[k] == 1 ? m->said : m->name;
    return fmi2OK;
}
GET_STATE(fmi2GetFMUstate)
SET_STATE(fmi2SetFMUstate)
FREE_STATE(fmi2FreeFMUstate)

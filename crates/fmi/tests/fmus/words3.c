/* Says its name and how many steps it made, and counts on what it hears: FMI 3.0 with texts, binaries and an array of
 * texts. Strings: 1 heard (input), 2 said (output), 3 name (parameter), 7 pair[2] (input), 8 swapped[2] (output).
 * Binaries: 4 bytes_in (input), 5 bytes_out (output): as many bytes as steps, all of them zero.
 * Int32: 12 command (input), 13 what it was at the beginning of the last step.
 * UInt64: 6 the size of bytes_in, 9 how many times discrete inputs were set. Int32: 10 as in words2. Float64: 11 steps.
 * With event mode, all inputs may be set in it only. */
#include "fmi3.h"
#include "stubs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char heard[8192], said[8192], name[64], pair[2][64];
    uint8_t bytes[64];
    size_t size;
    uint64_t sets;
    int32_t command, obeyed;
    int steps, number, event_mode, initialized, in_event;
} Model;

static void listen(Model *m) {
    const char *space = strrchr(m->heard, ' ');
    m->number = space ? atoi(space + 1) : -1;
    m->obeyed = m->command;
}
static int fixed(Model *m) { return m->initialized && m->event_mode && !m->in_event; }
FMI_EXPORT const char *fmi3GetVersion(void) { return "3.0"; }
FMI_EXPORT fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, bool visible,
        bool logging, bool eventModeUsed, bool earlyReturnAllowed, const fmi3ValueReference required[], size_t nRequired,
        void *environment, fmi3LogMessage log, fmi3IntermediateUpdate update) {
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)earlyReturnAllowed;
    (void)required, (void)nRequired, (void)environment, (void)log, (void)update;
    Model *m = calloc(1, sizeof *m);
    strcpy(m->name, "somebody");
    strcpy(m->pair[0], "left");
    strcpy(m->pair[1], "right");
    m->event_mode = eventModeUsed;
    return m;
}
FMI_EXPORT void fmi3FreeInstance(fmi3Instance c) { free(c); }
FMI_EXPORT fmi3Status fmi3EnterInitializationMode(fmi3Instance c, bool td, double tol, double t0, bool sd, double t1) {
    (void)td, (void)tol, (void)t0, (void)sd, (void)t1;
    listen(c);
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3ExitInitializationMode(fmi3Instance c) {
    Model *m = c;
    listen(m);
    m->initialized = 1;
    m->in_event = m->event_mode;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3EnterEventMode(fmi3Instance c) {
    Model *m = c;
    if (!m->event_mode || m->in_event) return fmi3Error;
    m->in_event = 1;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, bool *again, bool *terminate, bool *nominals, bool *values,
                                               bool *hasNext, double *next) {
    if (!((Model *)c)->in_event) return fmi3Error;
    *again = *terminate = *nominals = *values = *hasNext = false;
    *next = 0;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3EnterStepMode(fmi3Instance c) {
    Model *m = c;
    if (!m->in_event) return fmi3Error;
    m->in_event = 0;
    return fmi3OK;
}
NOTHING(fmi3Terminate)
FMI_EXPORT fmi3Status fmi3DoStep(fmi3Instance c, double t, double h, bool final, bool *event, bool *terminate, bool *early,
                                 double *last) {
    Model *m = c;
    (void)final;
    *event = *terminate = *early = false;
    *last = t + h;
    if (m->in_event) return fmi3Error;
    m->steps++;
    listen(m);
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, const double v[], size_t nv) {
    (void)c, (void)r, (void)v, (void)nv;
    return n ? fmi3Error : fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, double v[], size_t nv) {
    if (n != nv) return fmi3Error;
    for (size_t k = 0; k < n; k++) v[k] = r[k] == 11 ? ((Model *)c)->steps : 0;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetInt32(fmi3Instance c, const fmi3ValueReference r[], size_t n, int32_t v[], size_t nv) {
    Model *m = c;
    if (n != nv) return fmi3Error;
    for (size_t k = 0; k < n; k++) v[k] = r[k] == 10 ? m->number : r[k] == 12 ? m->command : m->obeyed;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetInt32(fmi3Instance c, const fmi3ValueReference r[], size_t n, const int32_t v[], size_t nv) {
    Model *m = c;
    if (n != 1 || nv != 1 || r[0] != 12 || fixed(m)) return fmi3Error;
    m->command = v[0];
    m->sets++;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetUInt64(fmi3Instance c, const fmi3ValueReference r[], size_t n, uint64_t v[], size_t nv) {
    Model *m = c;
    if (n != nv) return fmi3Error;
    for (size_t k = 0; k < n; k++) v[k] = r[k] == 6 ? m->size : m->sets;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetString(fmi3Instance c, const fmi3ValueReference r[], size_t n, const fmi3String v[], size_t nv) {
    Model *m = c;
    if (n != 1 || (r[0] != 3 && fixed(m))) return fmi3Error;
    if (r[0] == 1 && nv == 1) strncpy(m->heard, v[0], sizeof m->heard - 1);
    else if (r[0] == 3 && nv == 1) strncpy(m->name, v[0], sizeof m->name - 1);
    else if (r[0] == 7 && nv == 2)
        for (int k = 0; k < 2; k++) strncpy(m->pair[k], v[k], sizeof m->pair[k] - 1);
    else return fmi3Error;
    m->sets++;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetString(fmi3Instance c, const fmi3ValueReference r[], size_t n, fmi3String v[], size_t nv) {
    Model *m = c;
    snprintf(m->said, sizeof m->said, "%s %d", m->name, m->steps);
    if (n != 1) return fmi3Error;
    if (r[0] == 7 || r[0] == 8) {
        if (nv != 2) return fmi3Error;
        for (int k = 0; k < 2; k++) v[k] = m->pair[r[0] == 7 ? k : 1 - k];
        return fmi3OK;
    }
    if (nv != 1 || r[0] < 1 || r[0] > 3) return fmi3Error;
    v[0] = r[0] == 1 ? m->heard : r[0] == 2 ? m->said : m->name;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetBinary(fmi3Instance c, const fmi3ValueReference r[], size_t n, const size_t sizes[],
                                    const fmi3Binary v[], size_t nv) {
    Model *m = c;
    if (n != 1 || nv != 1 || r[0] != 4 || (sizes[0] && !v[0]) || fixed(m)) return fmi3Error;
    for (size_t k = 0; k < sizes[0]; k++)
        if (v[0][k]) return fmi3Error;
    m->size = sizes[0];
    m->sets++;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetBinary(fmi3Instance c, const fmi3ValueReference r[], size_t n, size_t sizes[], fmi3Binary v[],
                                    size_t nv) {
    Model *m = c;
    if (n != 1 || nv != 1 || r[0] != 5) return fmi3Error;
    sizes[0] = (size_t)m->steps;
    v[0] = m->steps ? m->bytes : NULL;
    /* A size that is a lie. */
    if (m->steps > 2 && getenv("WORDS_CLAIM")) sizes[0] = strtoull(getenv("WORDS_CLAIM"), NULL, 10);
    return fmi3OK;
}
GET_STATE(fmi3GetFMUState)
SET_STATE(fmi3SetFMUState)
FREE_STATE(fmi3FreeFMUState)

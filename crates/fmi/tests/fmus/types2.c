/* Every type of FMI 2.0: outputs repeat inputs, a text comes from a resource file. References are per type:
 * Real 0 → 1, Integer 0 → 1 (+1), Enumeration (integers) 2 → 3, Boolean 0 → 1 (not), String 0 → 1, 2: resource. */
#include "fmi2.h"
#include "stubs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double r[2];
    int i[4], b[2];
    char s[3][64];
} Model;

static void unescape(char *out, const char *uri) {
    const char *p = strncmp(uri, "file://", 7) == 0 ? uri + 7 : uri;
    while (*p) {
        unsigned code;
        if (*p == '%' && sscanf(p + 1, "%2x", &code) == 1) { *out++ = (char)code; p += 3; }
        else *out++ = *p++;
    }
    *out = 0;
}

FMI_EXPORT fmi2Component fmi2Instantiate(fmi2String name, int kind, fmi2String guid, fmi2String resources,
                                         const fmi2Callbacks *calls, fmi2Boolean visible, fmi2Boolean logging) {
    (void)name, (void)kind, (void)guid, (void)calls, (void)visible, (void)logging;
    Model *m = calloc(1, sizeof *m);
    char path[4096];
    unescape(path, resources);
    strcat(path, "/greeting.txt");
    FILE *f = fopen(path, "r");
    if (!f || !fgets(m->s[2], 64, f)) strcpy(m->s[2], "no resource");
    if (f) fclose(f);
    return m;
}
FMI_EXPORT void fmi2FreeInstance(fmi2Component c) { free(c); }
NOTHING(fmi2SetupExperiment)
NOTHING(fmi2EnterInitializationMode)
NOTHING(fmi2ExitInitializationMode)
NOTHING(fmi2Terminate)
NOTHING(fmi2DoStep)
#define SET(Type, T, FIELD) \
    FMI_EXPORT fmi2Status fmi2Set##Type(fmi2Component c, const fmi2ValueReference r[], size_t n, const T v[]) { \
        for (size_t k = 0; k < n; k++) ((Model *)c)->FIELD[r[k]] = v[k]; \
        return fmi2OK; \
    }
SET(Real, double, r)
SET(Integer, int, i)
SET(Boolean, int, b)
FMI_EXPORT fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2String v[]) {
    for (size_t k = 0; k < n; k++) strncpy(((Model *)c)->s[r[k]], v[k], 63);
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, double v[]) {
    for (size_t k = 0; k < n; k++) v[k] = ((Model *)c)->r[0] * (r[k] == 1 ? 2 : 1);
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, int v[]) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) v[k] = r[k] == 1 ? m->i[0] + 1 : r[k] == 3 ? m->i[2] : m->i[r[k]];
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference r[], size_t n, int v[]) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) v[k] = r[k] == 1 ? !m->b[0] : m->b[0];
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2String v[]) {
    Model *m = c;
    for (size_t k = 0; k < n; k++) v[k] = m->s[r[k] == 1 ? 0 : r[k]];
    return fmi2OK;
}

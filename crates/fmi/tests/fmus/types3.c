/* Every type of FMI 3.0. Inputs have reference 10 + n, outputs 30 + n and repeat their input; n in the order of TYPES.
 * Arrays: 50 input a[3], 51 output twice the array, 52 matrix output b[2,n] = 10 row + column, 53 structural n.
 * 60 string, 61 binary, 62 the size of the binary (UInt64). */
#include "fmi3.h"
#include "stubs.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    double f64, a[3];
    float f32;
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64, e;
    uint64_t u64, n, binary;
    bool b;
    char text[64];
    int configuring;
} Model;

FMI_EXPORT const char *fmi3GetVersion(void) { return "3.0"; }
FMI_EXPORT fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, bool visible,
        bool logging, bool eventModeUsed, bool earlyReturnAllowed, const fmi3ValueReference required[], size_t nRequired,
        void *environment, fmi3LogMessage log, fmi3IntermediateUpdate update) {
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)eventModeUsed, (void)earlyReturnAllowed;
    (void)required, (void)nRequired, (void)environment, (void)log, (void)update;
    Model *m = calloc(1, sizeof *m);
    m->n = 2;
    m->a[1] = 5;
    m->a[2] = 7;
    return m;
}
FMI_EXPORT void fmi3FreeInstance(fmi3Instance c) { free(c); }
FMI_EXPORT fmi3Status fmi3EnterConfigurationMode(fmi3Instance c) { ((Model *)c)->configuring = 1; return fmi3OK; }
FMI_EXPORT fmi3Status fmi3ExitConfigurationMode(fmi3Instance c) { ((Model *)c)->configuring = 0; return fmi3OK; }
NOTHING(fmi3EnterInitializationMode)
NOTHING(fmi3ExitInitializationMode)
NOTHING(fmi3Terminate)
FMI_EXPORT fmi3Status fmi3DoStep(fmi3Instance c, double t, double h, bool final, bool *event, bool *terminate, bool *early,
                                 double *last) {
    (void)c, (void)final;
    *event = *terminate = *early = false;
    *last = t + h;
    return fmi3OK;
}
#define SCALAR(Type, T, FIELD, PLACE) \
    FMI_EXPORT fmi3Status fmi3Set##Type(fmi3Instance c, const fmi3ValueReference r[], size_t n, const T v[], size_t nv) { \
        if (n != 1 || nv != 1 || r[0] != 10 + PLACE) return fmi3Error; \
        ((Model *)c)->FIELD = v[0]; \
        return fmi3OK; \
    } \
    FMI_EXPORT fmi3Status fmi3Get##Type(fmi3Instance c, const fmi3ValueReference r[], size_t n, T v[], size_t nv) { \
        if (n != nv) return fmi3Error; \
        for (size_t k = 0; k < n; k++) { \
            if (r[k] != 10 + PLACE && r[k] != 30 + PLACE) return fmi3Error; \
            v[k] = ((Model *)c)->FIELD; \
        } \
        return fmi3OK; \
    }
SCALAR(Float32, float, f32, 1)
SCALAR(Int8, int8_t, i8, 2)
SCALAR(UInt8, uint8_t, u8, 3)
SCALAR(Int16, int16_t, i16, 4)
SCALAR(UInt16, uint16_t, u16, 5)
SCALAR(Int32, int32_t, i32, 6)
SCALAR(UInt32, uint32_t, u32, 7)
SCALAR(Boolean, bool, b, 10)

/* Enumerations (11) are set and read with Int64 (8). */
FMI_EXPORT fmi3Status fmi3SetInt64(fmi3Instance c, const fmi3ValueReference r[], size_t n, const int64_t v[], size_t nv) {
    Model *m = c;
    if (n != nv) return fmi3Error;
    for (size_t k = 0; k < n; k++) *(r[k] == 21 ? &m->e : &m->i64) = v[k];
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetInt64(fmi3Instance c, const fmi3ValueReference r[], size_t n, int64_t v[], size_t nv) {
    Model *m = c;
    if (n != nv) return fmi3Error;
    for (size_t k = 0; k < n; k++) v[k] = r[k] == 21 || r[k] == 41 ? m->e : m->i64;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetUInt64(fmi3Instance c, const fmi3ValueReference r[], size_t n, const uint64_t v[], size_t nv) {
    Model *m = c;
    if (n != 1 || nv != 1) return fmi3Error;
    if (r[0] == 53 && !m->configuring) return fmi3Error;
    *(r[0] == 53 ? &m->n : &m->u64) = v[0];
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetUInt64(fmi3Instance c, const fmi3ValueReference r[], size_t n, uint64_t v[], size_t nv) {
    Model *m = c;
    if (n != nv) return fmi3Error;
    for (size_t k = 0; k < n; k++) v[k] = r[k] == 53 ? m->n : r[k] == 62 ? m->binary : m->u64;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, const double v[], size_t nv) {
    Model *m = c;
    size_t at = 0;
    for (size_t k = 0; k < n; k++) {
        if (r[k] == 10) m->f64 = v[at++];
        else if (r[k] == 50) { memcpy(m->a, v + at, sizeof m->a); at += 3; }
        else return fmi3Error;
    }
    return at == nv ? fmi3OK : fmi3Error;
}
FMI_EXPORT fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, double v[], size_t nv) {
    Model *m = c;
    size_t at = 0;
    for (size_t k = 0; k < n; k++) {
        if (r[k] == 10 || r[k] == 30) v[at++] = m->f64;
        else if (r[k] == 50 || r[k] == 51)
            for (int i = 0; i < 3; i++) v[at++] = m->a[i] * (r[k] == 51 ? 2 : 1);
        else if (r[k] == 52)
            for (uint64_t i = 0; i < 2 * m->n; i++) v[at++] = 10 * (double)(i / m->n + 1) + (double)(i % m->n + 1);
        else return fmi3Error;
    }
    return at == nv ? fmi3OK : fmi3Error;
}
FMI_EXPORT fmi3Status fmi3SetString(fmi3Instance c, const fmi3ValueReference r[], size_t n, const fmi3String v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != 60) return fmi3Error;
    strncpy(((Model *)c)->text, v[0], 63);
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3GetString(fmi3Instance c, const fmi3ValueReference r[], size_t n, fmi3String v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != 60) return fmi3Error;
    v[0] = ((Model *)c)->text;
    return fmi3OK;
}
FMI_EXPORT fmi3Status fmi3SetBinary(fmi3Instance c, const fmi3ValueReference r[], size_t n, const size_t sizes[],
                                    const fmi3Binary v[], size_t nv) {
    if (n != 1 || nv != 1 || r[0] != 61 || !v[0]) return fmi3Error;
    ((Model *)c)->binary = sizes[0];
    return fmi3OK;
}

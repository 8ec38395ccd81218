/* The least that a master has to do with a ring of integrators: set, step, get, in a bare loop. Used by the `ring`
 * benchmark. Returns seconds per step of one instance, or -1. */
#define _POSIX_C_SOURCE 200809L
#include "fmi2.h"
#include "fmi3.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void no_log2(void *e, fmi2String i, fmi2Status s, fmi2String c, fmi2String m, ...) { (void)e, (void)i, (void)s, (void)c, (void)m; }
static void no_log3(void *e, fmi3Status s, fmi3String c, fmi3String m) { (void)e, (void)s, (void)c, (void)m; }
static void no_step(void *e, fmi2Status s) { (void)e, (void)s; }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef fmi2Component (*Instantiate2)(fmi2String, int, fmi2String, fmi2String, const fmi2Callbacks *, int, int);
typedef fmi3Instance (*Instantiate3)(fmi3String, fmi3String, fmi3String, bool, bool, bool, bool, const fmi3ValueReference *,
                                     size_t, void *, fmi3LogMessage, fmi3IntermediateUpdate);

FMI_EXPORT double raw_loop_2(const char *library, int n, int steps, double h) {
    void *lib = dlopen(library, RTLD_NOW);
    if (!lib) return -1;
    Instantiate2 instantiate = (Instantiate2)dlsym(lib, "fmi2Instantiate");
    fmi2Status (*set)(fmi2Component, const unsigned *, size_t, const double *) = dlsym(lib, "fmi2SetReal");
    fmi2Status (*get)(fmi2Component, const unsigned *, size_t, double *) = dlsym(lib, "fmi2GetReal");
    fmi2Status (*step)(fmi2Component, double, double, int) = dlsym(lib, "fmi2DoStep");
    void (*release)(fmi2Component) = dlsym(lib, "fmi2FreeInstance");
    fmi2Callbacks calls = {no_log2, calloc, free, no_step, NULL};
    fmi2Component *c = calloc((size_t)n, sizeof *c);
    double *y = calloc((size_t)n, sizeof *y), *u = calloc((size_t)n, sizeof *u);
    for (int i = 0; i < n; i++) c[i] = instantiate("i", 1, "{integrator}", "", &calls, 0, 0);
    const unsigned in = 0, out = 1;
    double begin = now();
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < n; i++) u[i] = y[i ? i - 1 : n - 1];
        for (int i = 0; i < n; i++) {
            if (set(c[i], &in, 1, &u[i]) != fmi2OK || step(c[i], s * h, h, 1) != fmi2OK || get(c[i], &out, 1, &y[i]) != fmi2OK)
                return -1;
        }
    }
    double seconds = now() - begin;
    for (int i = 0; i < n; i++) release(c[i]);
    free(c), free(u), free(y);
    return seconds / steps / n;
}

FMI_EXPORT double raw_loop_3(const char *library, int n, int steps, double h) {
    void *lib = dlopen(library, RTLD_NOW);
    if (!lib) return -1;
    Instantiate3 instantiate = (Instantiate3)dlsym(lib, "fmi3InstantiateCoSimulation");
    fmi3Status (*set)(fmi3Instance, const uint32_t *, size_t, const double *, size_t) = dlsym(lib, "fmi3SetFloat64");
    fmi3Status (*get)(fmi3Instance, const uint32_t *, size_t, double *, size_t) = dlsym(lib, "fmi3GetFloat64");
    fmi3Status (*step)(fmi3Instance, double, double, bool, bool *, bool *, bool *, double *) = dlsym(lib, "fmi3DoStep");
    void (*release)(fmi3Instance) = dlsym(lib, "fmi3FreeInstance");
    fmi3Instance *c = calloc((size_t)n, sizeof *c);
    double *y = calloc((size_t)n, sizeof *y), *u = calloc((size_t)n, sizeof *u);
    for (int i = 0; i < n; i++) c[i] = instantiate("i", "{integrator}", "/", 0, 0, 0, 0, NULL, 0, NULL, no_log3, NULL);
    const uint32_t in = 1, out = 2;
    bool event, terminate, early;
    double last;
    double begin = now();
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < n; i++) u[i] = y[i ? i - 1 : n - 1];
        for (int i = 0; i < n; i++) {
            if (set(c[i], &in, 1, &u[i], 1) != fmi3OK
                || step(c[i], s * h, h, true, &event, &terminate, &early, &last) != fmi3OK
                || get(c[i], &out, 1, &y[i], 1) != fmi3OK || event || terminate || early)
                return -1;
        }
    }
    double seconds = now() - begin;
    for (int i = 0; i < n; i++) release(c[i]);
    free(c), free(u), free(y);
    return seconds / steps / n;
}

/* The part of FMI 1.0 for co-simulation that the test FMUs implement; declarations as the standard prescribes them. */
#ifndef FMI1_H
#define FMI1_H
#include <stddef.h>

#ifdef _WIN32
#define FMI_EXPORT __declspec(dllexport)
#else
#define FMI_EXPORT __attribute__((visibility("default")))
#endif

typedef struct {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(void *, int);
} Callbacks;

#endif

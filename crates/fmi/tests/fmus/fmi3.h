/* The part of FMI 3.0 that the test FMUs implement; declarations as the standard prescribes them. */
#ifndef FMI3_H
#define FMI3_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#define FMI_EXPORT __declspec(dllexport)
#else
#define FMI_EXPORT __attribute__((visibility("default")))
#endif

typedef void *fmi3Instance;
typedef uint32_t fmi3ValueReference;
typedef const char *fmi3String;
typedef const uint8_t *fmi3Binary;
typedef void *fmi3FMUState;
typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef void (*fmi3LogMessage)(void *environment, fmi3Status, fmi3String category, fmi3String message);
typedef void (*fmi3IntermediateUpdate)(void *environment, double time, bool setRequested, bool getAllowed,
                                       bool stepFinished, bool canReturnEarly, bool *earlyReturnRequested,
                                       double *earlyReturnTime);

#endif

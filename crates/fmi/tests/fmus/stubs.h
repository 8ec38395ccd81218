/* Functions that many test FMUs have alike. Include it after fmi1.h, fmi2.h or fmi3.h. */
#ifndef STUBS_H
#define STUBS_H

/* A function that the FMU does not implement, for tools that want every one to be there: an error, whatever its arguments. */
#define STUB(name) \
    FMI_EXPORT int name(void *instance, ...) { \
        (void)instance; \
        return 3; \
    }

/* A function that has nothing to do: OK, whatever its arguments. */
#define NOTHING(name) \
    FMI_EXPORT int name(void *instance, ...) { \
        (void)instance; \
        return 0; \
    }

/* Saves the state: a copy of the whole `Model`, into a new place or over an earlier one. Needs <stdlib.h> and <string.h>. */
#define GET_STATE(name) \
    FMI_EXPORT int name(void *instance, void **state) { \
        if (!*state) *state = malloc(sizeof(Model)); \
        memcpy(*state, instance, sizeof(Model)); \
        return 0; \
    }

/* Goes back to such a copy. */
#define SET_STATE(name) \
    FMI_EXPORT int name(void *instance, void *state) { \
        memcpy(instance, state, sizeof(Model)); \
        return 0; \
    }

/* Frees such a copy. */
#define FREE_STATE(name) \
    FMI_EXPORT int name(void *instance, void **state) { \
        (void)instance; \
        free(*state); \
        *state = NULL; \
        return 0; \
    }

#endif

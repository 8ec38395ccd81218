/* Functions that an FMU does not implement, for tools that want every one to be there: they return an error, whatever
 * their arguments. */
#ifndef STUBS_H
#define STUBS_H
#define STUB(name) \
    FMI_EXPORT int name(void *instance, ...) { \
        (void)instance; \
        return 3; \
    }
#endif

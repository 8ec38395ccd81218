/* The logger callback of FMI 1.0 and 2.0: its message is a printf format with variable arguments.
 *
 * FMUs pass formats that do not fit their arguments (a text with a `%` in it, a `%s` without a string). vsnprintf would
 * follow a wild pointer then, so the format is taken apart here: every conversion is printed on its own, `%n` never
 * writes, and a string is read only where memory is readable. Too long texts are cut.
 */

#ifdef __linux__
#define _GNU_SOURCE
#endif
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <unistd.h>
#endif
#ifdef __linux__
#include <errno.h>
#include <sys/uio.h>
#endif

enum { MESSAGE = 2048, TEXT = 1024, SPEC = 32 };

/* In log.rs. */
void powerbond_fmi_log(void *environment, const char *instance, int status, const char *category, const char *message);

/* Whether a byte can be read: the kernel answers EFAULT instead of a signal. */
static int readable(const char *p) {
#ifdef _WIN32
    return p && !IsBadReadPtr(p, 1);
#else
    if (!p) return 0;
#ifdef __linux__
    /* One call, and no descriptor, of which an FMU may have left none. Some containers forbid it. */
    char byte;
    struct iovec to = {&byte, 1}, from = {(void *)p, 1};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1) return 1;
    if (errno == EFAULT) return 0;
#endif
    int ends[2];
    if (pipe(ends) != 0) return 0;
    int ok = write(ends[1], p, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return ok;
#endif
}

/* Copies a string of an FMU, at most `size - 1` bytes of it, asking once per page. */
void powerbond_fmi_copy(char *out, size_t size, const char *text) {
    size_t n = 0;
    while (n + 1 < size) {
        const char *p = text + n;
        if ((n == 0 || ((uintptr_t)p & 4095) == 0) && !readable(p)) {
            if (n == 0) n = (size_t)snprintf(out, size, text ? "(unreadable)" : "(null)");
            break;
        }
        if (!*p) break;
        out[n++] = *p;
    }
    out[n < size ? n : size - 1] = 0;
}

/* Appends one conversion `spec` (with its `%`) to `out`; `kind` is its last character, `longs` counts `l`s. */
static int convert(char *out, size_t size, char *spec, char kind, int longs, va_list *arguments) {
    char text[TEXT];
    switch (kind) {
    case 'd': case 'i':
        if (longs > 1) return snprintf(out, size, spec, va_arg(*arguments, long long));
        if (longs == 1) return snprintf(out, size, spec, va_arg(*arguments, long));
        return snprintf(out, size, spec, va_arg(*arguments, int));
    case 'u': case 'x': case 'X': case 'o':
        if (longs > 1) return snprintf(out, size, spec, va_arg(*arguments, unsigned long long));
        if (longs == 1) return snprintf(out, size, spec, va_arg(*arguments, unsigned long));
        return snprintf(out, size, spec, va_arg(*arguments, unsigned int));
    case 'c':
        return snprintf(out, size, spec, va_arg(*arguments, int));
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
        return snprintf(out, size, spec, va_arg(*arguments, double));
    case 'p':
        return snprintf(out, size, "%p", va_arg(*arguments, void *));
    case 's':
        powerbond_fmi_copy(text, sizeof text, va_arg(*arguments, const char *));
        return snprintf(out, size, spec, text);
    default:
        return snprintf(out, size, "%s", spec);
    }
}

static void format(char *out, const char *f, va_list *arguments) {
    size_t n = 0;
    while (*f && n + 1 < MESSAGE) {
        if (*f != '%') {
            out[n++] = *f++;
            continue;
        }
        if (f[1] == '%') {
            out[n++] = '%';
            f += 2;
            continue;
        }
        char spec[SPEC];
        size_t length = 0;
        int longs = 0;
        int digits = 0;
        spec[length++] = *f++;
        while (*f && strchr("-+ #0123456789.*hlLqjzt", *f) && length + 16 < SPEC && digits < 4) {
            if (*f == '*') {
                int width = va_arg(*arguments, int);
                length += (size_t)snprintf(spec + length, 6, "%d", width < 0 || width > 999 ? 0 : width);
                f++;
                continue;
            }
            digits = (*f >= '0' && *f <= '9') ? digits + 1 : 0;
            /* z, j, t and q are as long as two `l`s wherever FMUs run. `L` of long doubles is dropped. */
            if (strchr("qjzt", *f)) longs = 2;
            else if (*f == 'l') longs++;
            else if (*f != 'h' && *f != 'L') spec[length++] = *f;
            f++;
        }
        for (int i = 0; i < longs && i < 2; i++) spec[length++] = 'l';
        char kind = *f;
        if (kind) f++;
        if (kind == 's' || kind == 'c') length -= (size_t)(longs > 2 ? 2 : longs);
        spec[length++] = kind;
        spec[length] = 0;
        int written = convert(out + n, MESSAGE - n, spec, kind, longs, arguments);
        if (written > 0) n += (size_t)written < MESSAGE - n ? (size_t)written : MESSAGE - n - 1;
    }
    out[n] = 0;
}

void powerbond_fmi_logger(void *environment, const char *instance, int status, const char *category, const char *message, ...) {
    char text[MESSAGE];
    char safe[MESSAGE];
    powerbond_fmi_copy(safe, sizeof safe, message);
    va_list arguments;
    va_start(arguments, message);
    format(text, safe, &arguments);
    va_end(arguments);
    powerbond_fmi_log(environment, instance, status, category, text);
}

/* What FMUs printed and the C library still holds. */
void powerbond_fmi_flush(void) { fflush(NULL); }

/* From now on whole lines leave the C library at once: what an FMU prints before it crashes is told. */
void powerbond_fmi_print_lines(void) { setvbuf(stdout, NULL, _IOLBF, BUFSIZ); }

/* Memory for FMUs: zeroed, as both standards ask. */
void *powerbond_fmi_allocate(size_t count, size_t size) { return calloc(count, size); }
void powerbond_fmi_free(void *memory) { free(memory); }

/* FMI 1.0 passes the component where FMI 2.0 passes our environment; log.rs knows whose call is under way. */
void powerbond_fmi1_logger(void *component, const char *instance, int status, const char *category, const char *message, ...) {
    char text[MESSAGE];
    char safe[MESSAGE];
    (void)component;
    powerbond_fmi_copy(safe, sizeof safe, message);
    va_list arguments;
    va_start(arguments, message);
    format(text, safe, &arguments);
    va_end(arguments);
    powerbond_fmi_log(NULL, instance, status, category, text);
}

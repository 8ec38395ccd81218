/* x' = u, and what native code can do to its process. FMI 2.0. `fault` (integer, reference 9) chooses what happens, `place`
 * (reference 10) where: 1 in fmi2EnterInitializationMode, 2 in the step that begins at t = 0.5, 3 in fmi2Terminate, 4 in
 * fmi2FreeInstance, 6 in fmi2SetReal and 7 in fmi2GetReal, both from t = 0.5 on, 8 as 2 in a step below 0.06 s. With the environment variable TRAP_LOAD=1,
 * TRAP_INSTANTIATE=1 or TRAP_UNLOAD=1 it crashes while it is loaded, instantiated or unloaded, with TRAP_INSTANTIATE=throw it throws.
 * 1 segmentation fault   2 abort   3 stack overflow   4 exit(0)   5 _exit(0)   6 SIGKILL   7 SIGSTOP   8 hangs, busy
 * 9 hangs, asleep, all signals that can be blocked are blocked   10 division by zero   11 illegal instruction
 * 12 closes all descriptors   13 file size limit of 0   14 ignores SIGTERM and SIGINT, catches SIGSEGV and hangs in it
 * 15 leaves a child that sleeps for ever, in a session of its own   16 the same child, and then a segmentation fault
 * 17 takes memory for ever   18 rounds up   19 flushes denormals   20 another working folder   21 another locale
 * 22 ignores SIGINT and SIGTERM   23 handles SIGSEGV   24 blocks SIGTERM   25 logs three lines, then a segmentation fault
 * 26 removes the folder TRAP_REMOVE   27 makes the file TRAP_WRITE and opens a socket; what works is logged
 * 28 ends its thread (pthread_exit)   29 throws an exception as C++ does   30 forks, and both return   31 sends itself SIGTERM
 * 32 puts another file in the place of all descriptors   33 traps floating-point exceptions   34 writes over memory that is shared with
 * other processes   35 prints a line with an order for the terminal, then a segmentation fault
 * 36 other permissions of new files   37 writes a line to all descriptors   38 starts another program and waits for it
 * 39 leaks 100 MB, once   40 cuts all files to nothing
 * Place 5 is the end of every step from t = 0.5 on, after everything was computed. */
#define _GNU_SOURCE
#include "fmi2.h"
#include "stubs.h"
#include <fcntl.h>
#include <fenv.h>
#include <ftw.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif
#include <unistd.h>
#include <unwind.h>

typedef struct {
    double u, x, time;
    int fault, place;
    fmi2Callbacks calls;
} Model;

static int deep(volatile int n) {
    volatile char room[4096];
    room[n % 4096] = (char)n;
    return deep(n + 1) + room[0];
}
static void for_ever(int signal) {
    (void)signal;
    for (;;) sleep(1000);
}
static void leave_child(void) {
    if (fork() == 0) {
        setsid();
        for_ever(0);
    }
}
static void throw_it(void) {
    static struct _Unwind_Exception exception = {.exception_class = 0x7472617000000000};
    _Unwind_RaiseException(&exception);
    abort();
}
static void crash(void) { *(volatile int *)8 = 1; }
static void fill(void) {
    for (;;) {
        char *more = malloc(1 << 20);
        if (more) memset(more, 1, 1 << 20);
        usleep(100);
    }
}
static void leak(void) {
    static char *volatile lost;
    lost = malloc(100000000);
    if (lost) memset(lost, 1, 100000000);
}
static void replace_files(void) {
    int null = open("/dev/null", O_WRONLY);
    for (int fd = 3; fd < 64; fd++) dup2(null, fd);
}
static void write_everywhere(void) {
    for (int fd = 3; fd < 64; fd++) (void)!write(fd, "astray\n", 7);
}
static void cut_files(void) {
    for (int fd = 3; fd < 64; fd++) (void)!ftruncate(fd, 0);
}
static void overwrite(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], mode[8];
    unsigned long begin, end;
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "/memfd:powerbond") && sscanf(line, "%lx-%lx %7s", &begin, &end, mode) == 3 && mode[1] == 'w')
            memset((void *)begin, 0xA5, end - begin < 65536 ? end - begin : 65536);
    fclose(maps);
}
static int unlink_it(const char *path, const struct stat *s, int kind, struct FTW *walk) {
    (void)s, (void)kind, (void)walk;
    return remove(path);
}
static void say(const Model *m, const char *text) {
    m->calls.logger(m->calls.environment, "trap", fmi2Warning, "trap", "%s", text);
}
static void break_out(const Model *m) {
    int file = open(getenv("TRAP_WRITE"), O_CREAT | O_WRONLY, 0600);
    int inet = socket(AF_INET, SOCK_DGRAM, 0);
    say(m, file >= 0 ? "file: yes" : "file: no");
    say(m, inet >= 0 ? "network: yes" : "network: no");
}

static void spring(const Model *m, int place) {
    if (m->place != place) return;
    sigset_t all;
    struct rlimit none = {0, 0};
    switch (m->fault) {
    case 1: crash(); break;
    case 2: abort();
    case 3: deep(0); break;
    case 4: exit(0);
    case 5: _exit(0);
    case 6: kill(getpid(), SIGKILL); break;
    case 7: kill(getpid(), SIGSTOP); break;
    case 8: for (volatile long i = 0;; i++) {}
    case 9: sigfillset(&all), sigprocmask(SIG_BLOCK, &all, NULL), for_ever(0); break;
    case 10: raise(SIGFPE); break;
    case 11: raise(SIGILL); break;
    case 12: for (int fd = 0; fd < 1024; fd++) close(fd); break;
    case 13: setrlimit(RLIMIT_FSIZE, &none); break;
    case 14: signal(SIGTERM, SIG_IGN), signal(SIGINT, SIG_IGN), signal(SIGSEGV, for_ever), crash(); break;
    case 15: leave_child(); break;
    case 16: leave_child(), crash(); break;
    case 17: fill(); break;
    case 18: fesetround(FE_UPWARD); break;
#ifdef __SSE__
    case 19: _mm_setcsr(_mm_getcsr() | 0x8040); break;
#endif
    case 20: if (chdir("/")) abort(); break;
    case 21: if (!setlocale(LC_ALL, "C.UTF-8")) abort(); break;
    case 22: signal(SIGINT, SIG_IGN), signal(SIGTERM, SIG_IGN); break;
    case 23: signal(SIGSEGV, for_ever); break;
    case 24: sigemptyset(&all), sigaddset(&all, SIGTERM), sigprocmask(SIG_BLOCK, &all, NULL); break;
    case 25: say(m, "one"), say(m, "two"), say(m, "three"), crash(); break;
    case 26: nftw(getenv("TRAP_REMOVE"), unlink_it, 8, FTW_DEPTH | FTW_PHYS); break;
    case 27: break_out(m); break;
    case 28: pthread_exit(NULL);
    case 29: throw_it(); break;
    case 30: (void)!fork(); break;
    case 31: raise(SIGTERM); break;
    case 32: replace_files(); break;
    case 33: feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW); break;
    case 34: overwrite(); break;
    case 35: printf("no licence \x1b[2J\n"), crash(); break;
    case 36: umask(0777); break;
    case 37: write_everywhere(); break;
    case 38: if (system("true")) abort(); break;
    case 39: leak(); break;
    case 40: cut_files(); break;
    }
}

__attribute__((constructor)) static void load(void) {
    if (getenv("TRAP_LOAD")) crash();
}
__attribute__((destructor)) static void unload(void) {
    if (getenv("TRAP_UNLOAD")) crash();
}
FMI_EXPORT fmi2Component fmi2Instantiate(fmi2String name, int kind, fmi2String guid, fmi2String resources,
                                         const fmi2Callbacks *calls, fmi2Boolean visible, fmi2Boolean logging) {
    (void)name, (void)kind, (void)guid, (void)resources, (void)visible, (void)logging;
    const char *how = getenv("TRAP_INSTANTIATE");
    if (how && strcmp(how, "throw") == 0) throw_it();
    if (how) crash();
    Model *m = calloc(1, sizeof(Model));
    m->calls = *calls;
    return m;
}
FMI_EXPORT void fmi2FreeInstance(fmi2Component c) {
    spring(c, 4);
    free(c);
}
FMI_EXPORT fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean td, double tol, double t0, fmi2Boolean sd, double t1) {
    (void)td, (void)tol, (void)sd, (void)t1;
    ((Model *)c)->time = t0;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
    spring(c, 1);
    return fmi2OK;
}
NOTHING(fmi2ExitInitializationMode)
FMI_EXPORT fmi2Status fmi2Terminate(fmi2Component c) {
    spring(c, 3);
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, double v[]) {
    const Model *m = c;
    if (m->time > 0.5 - 1e-9) spring(m, 7);
    for (size_t i = 0; i < n; i++) v[i] = r[i] == 0 ? m->u : m->x;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, const double v[]) {
    if (((const Model *)c)->time > 0.5 - 1e-9) spring(c, 6);
    for (size_t i = 0; i < n; i++)
        if (r[i] == 0) ((Model *)c)->u = v[i];
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, const int v[]) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) *(r[i] == 9 ? &m->fault : &m->place) = v[i];
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, int v[]) {
    const Model *m = c;
    for (size_t i = 0; i < n; i++) v[i] = r[i] == 9 ? m->fault : m->place;
    return fmi2OK;
}
FMI_EXPORT fmi2Status fmi2DoStep(fmi2Component c, double t, double h, fmi2Boolean final) {
    Model *m = c;
    (void)final;
    if (fabs(t - 0.5) < 1e-9) spring(m, 2);
    if (fabs(t - 0.5) < 1e-9 && h < 0.06) spring(m, 8);
    m->x += m->u * h;
    m->time = t + h;
    if (t > 0.5 - 1e-9) spring(m, 5);
    return fmi2OK;
}

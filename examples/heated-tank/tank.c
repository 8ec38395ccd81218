/* A water tank with a heating rod; cold water flows in, as much as flows out:
 *
 *   Cr Tr' = power − G (Tr − T)                                rod
 *   C T'   = G (Tr − T) + flow c (T_in − T) − U (T − T_room)   water, well mixed */
#define GUID "{heated-tank}"
#define MICRO 1.0 /* s; the rod settles within 10 s */
#define INPUTS 2
#define STATES 2

enum { POWER, FLOW, TEMPERATURE, ROD, MASS, ROD_CAPACITY, TRANSFER, LOSS, INFLOW, ROOM, COUNT };
static const double start[COUNT] = {
    [TEMPERATURE] = 20, [ROD] = 20, [MASS] = 50, [ROD_CAPACITY] = 2000, [TRANSFER] = 200, [LOSS] = 5, [INFLOW] = 10, [ROOM] = 20,
};

static void rates(const double v[], double dx[]) {
    const double c = 4186; /* J/(kg.K), water */
    double heat = v[TRANSFER] * (v[ROD] - v[TEMPERATURE]);
    double losses = v[FLOW] * c * (v[TEMPERATURE] - v[INFLOW]) + v[LOSS] * (v[TEMPERATURE] - v[ROOM]);
    dx[0] = (heat - losses) / (v[MASS] * c);
    dx[1] = (v[POWER] - heat) / v[ROD_CAPACITY];
}
static void outputs(double v[]) { (void)v; /* all of them are states */ }

#include "fmu.h"

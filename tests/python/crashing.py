"""An FMU that follows a ramp and crashes half a second after the start, built from C."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]

SOURCE = """
#include <stddef.h>
#define GUID "{crash}"
#define MICRO 1e-2
#define INPUTS 1
#define STATES 1
enum { PUSH, RAMP, COUNT };
static const double start[COUNT] = { 0.0, 0.0 };
static void rates(const double v[], double dx[]) {
    if (v[RAMP] > 0.45) *(volatile int *)NULL = 1;
    dx[0] = 1.0 + v[PUSH];
}
static void outputs(double v[]) { (void)v; }
#include "fmu.h"
"""

DESCRIPTION = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="crash" guid="{crash}">
  <CoSimulation modelIdentifier="crash" canHandleVariableCommunicationStepSize="true"/>
  <DefaultExperiment startTime="0" stopTime="1" stepSize="0.05"/>
  <ModelVariables>
    <ScalarVariable name="push" valueReference="0" causality="input"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="ramp" valueReference="1" causality="output" initial="exact"><Real start="0"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure><Outputs><Unknown index="2" dependencies=""/></Outputs></ModelStructure>
</fmiModelDescription>
"""


def crashing_fmu(folder: Path) -> Path:
    """Builds it with the script of an example."""
    source = folder / "source"
    source.mkdir()
    for name in ("build.sh", "fmu.h"):
        shutil.copy(ROOT / "examples/dc-motor" / name, source / name)
    # Arrays of no length are an extension of C.
    (source / "crash.c").write_text(SOURCE.replace("#define INPUTS 1", "#define INPUTS 1"))
    (source / "crash.xml").write_text(DESCRIPTION)
    subprocess.run(["sh", "build.sh", str(folder)], cwd=source, check=True, capture_output=True)
    return folder / "crash.fmu"

"""A thermostat: proportional and integral control of the power, between 0 and its largest one.

    wanted = gain (target − temperature + integral/reset_time),   power = wanted within its limits
    integral' = target − temperature + (power − wanted)/gain      the last term is 0 within the limits
"""

import math

from pythonfmu import DefaultExperiment, Fmi2Causality, Fmi2Slave, Fmi2Variability, Real


class Thermostat(Fmi2Slave):
    description = "Proportional-integral controller of a heater"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.default_experiment = DefaultExperiment(start_time=0, stop_time=3600, step_size=1)
        self.temperature, self.target, self.integral = 20.0, 30.0, 0.0
        self.gain, self.reset_time, self.largest = 1000.0, 1200.0, 20e3
        inputs, output, parameter = Fmi2Causality.input, Fmi2Causality.output, Fmi2Causality.parameter
        fixed = Fmi2Variability.fixed
        self.register_variable(Real("temperature", causality=inputs, description="degC"))
        self.register_variable(Real("target", causality=inputs, description="degC"))
        self.register_variable(Real("power", causality=output, description="W", getter=self.limited, setter=self.ignore))
        self.register_variable(Real("gain", causality=parameter, variability=fixed, description="W/K"))
        self.register_variable(Real("reset_time", causality=parameter, variability=fixed, description="s"))
        self.register_variable(Real("largest", causality=parameter, variability=fixed, description="W"))
        self.register_variable(Real("integral", causality=Fmi2Causality.local, description="K.s"))

    def wanted(self):
        return self.gain * (self.target - self.temperature + self.integral / self.reset_time)

    def limited(self):
        """The power, computed whenever it is read: it follows the temperature at once."""
        return min(max(self.wanted(), 0.0), self.largest)

    def ignore(self, _):
        """Importers that restore a state set the power, too."""

    def rate(self):
        return self.target - self.temperature + (self.limited() - self.wanted()) / self.gain

    def do_step(self, t, h):
        steps = math.ceil(h)  # of 1 s at most, by Heun's method
        for _ in range(steps):
            before, rate = self.integral, self.rate()
            self.integral += h / steps * rate
            self.integral = before + h / steps * (rate + self.rate()) / 2
        return True

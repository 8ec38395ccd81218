"""A controller with samples: every 0.1 s it reads the position and sets the force, which it holds until the next sample."""

from pythonfmu import DefaultExperiment, Fmi2Causality, Fmi2Slave, Fmi2Variability, Real


class Controller(Fmi2Slave):
    description = "Proportional-derivative controller, sampled"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.default_experiment = DefaultExperiment(start_time=0, stop_time=6, step_size=0.01)
        self.position, self.target, self.force = 0.0, 1.0, 0.0
        self.stiffness, self.damping, self.period = 60.0, 30.0, 0.1
        # What it remembers; variables, so that they are part of the state that importers save.
        self.previous, self.sample = 0.0, 0.0
        inputs, output, parameter = Fmi2Causality.input, Fmi2Causality.output, Fmi2Causality.parameter
        discrete, fixed = Fmi2Variability.discrete, Fmi2Variability.fixed
        self.register_variable(Real("position", causality=inputs, description="m"))
        self.register_variable(Real("target", causality=inputs, description="m"))
        self.register_variable(Real("force", causality=output, variability=discrete, description="N"))
        self.register_variable(Real("stiffness", causality=parameter, variability=fixed, description="N/m"))
        self.register_variable(Real("damping", causality=parameter, variability=fixed, description="N.s/m"))
        self.register_variable(Real("period", causality=parameter, variability=fixed, description="s"))
        self.register_variable(Real("previous", causality=Fmi2Causality.local, variability=discrete))
        self.register_variable(Real("sample", causality=Fmi2Causality.local, variability=discrete))

    def do_step(self, t, h):
        # Samples are at 0, 0.1, 0.2 … s, those that fall into this step.
        while self.sample * self.period < t + h - 1e-9:
            speed = (self.position - self.previous) / self.period
            self.force = self.stiffness * (self.target - self.position) - self.damping * speed
            self.previous = self.position
            self.sample += 1
        return True

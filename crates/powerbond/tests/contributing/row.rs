Row {
    name: "dead-band",
    make: |case| Box::new(DeadBand { first_step: case.method.step, low: 0.1, bounds: case.bounds() }),
}

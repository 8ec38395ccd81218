//! The library inside exported FMUs: every built-in model behind the functions of FMI 2.0 and FMI 3.0.

powerbond_export::fmu_library!(powerbond_models::ALL);

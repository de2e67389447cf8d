//! A library in the place of NVIDIA's for management, which tells clocks as a test wants them.

use std::process::Command;

use tempfile::TempDir;

/// The states that the library tells; of the others it says that they are not supported.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Tells {
    AllButPower,
    PowerAlone,
}

/// Clocks of the SMs go down by `STEP` MHz with each reading.
const SOURCE: &str = "
static unsigned sm = 1980;
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *place, void **device)
{
    /* `domain:bus:device.function` */
    if (place[8] != ':' || place[11] != ':' || place[14] != '.') return 2;
    *device = &sm;
    return 0;
}
int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *mhz)
{
    if (device != &sm) return 2;
    if (POWER) return 3;
    *mhz = kind == 1 ? sm : 2619;
    if (kind == 1) sm -= STEP;
    return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits)
{
    *bits = 0x4;
    return POWER ? 3 : 0;
}
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    *celsius = 51;
    return POWER ? 3 : sensor;
}
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = 250500;
    return POWER ? 0 : 3;
}
";

/// A folder with the library, for `LD_LIBRARY_PATH`.
pub(crate) fn library(step: u32, tells: Tells) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("management.c");
    std::fs::write(&source, SOURCE).unwrap();
    let power = u32::from(tells == Tells::PowerAlone);
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", &format!("-DSTEP={step}"), &format!("-DPOWER={power}"), "-o"])
        .args([&folder.path().join("libnvidia-ml.so.1"), &source])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    folder
}

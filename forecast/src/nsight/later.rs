//! The metrics that no count gives: of the simulation, of machine code and of the launch.

use gpucast_counters::metric;
use gpucast_counters::metric::{Kind, Number};
use gpucast_counters::occupancy::Limiter;
use gpucast_model::roofs;
use gpucast_model::sm_simulation::State;

use super::cycles::{Simulated, sm_count};
use super::{Figures, Value, pipes};

/// The stall reasons that the simulation tells apart.
pub const REASONS: [&str; 13] = [
    "barrier",
    "gmma",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "no_instruction",
    "not_selected",
    "selected",
    "short_scoreboard",
    "wait",
];

/// The states of a warp that Nsight Compute counts under a reason; none if the simulation does not
/// tell it from others.
pub(super) fn states(reason: &str) -> Option<&'static [State]> {
    Some(match reason {
        "barrier" => &[State::Barrier],
        "gmma" => &[State::Products],
        "imc_miss" => &[State::ConstantMiss],
        "lg_throttle" => &[State::LgThrottle],
        "long_scoreboard" | "memory_dependency" => &[
            State::L1Latency,
            State::L2Latency,
            State::DramLatency,
            State::LoadStoreQueue,
            State::L2Queue,
            State::DramQueue,
            State::Copies,
        ],
        "math_pipe_throttle" => &[State::MathPipe],
        "membar" => &[State::Membar],
        "mio_throttle" => &[State::MioThrottle],
        "no_instruction" => &[State::NoInstruction],
        "not_selected" => &[State::NotSelected],
        "selected" => &[State::Selected],
        "short_scoreboard" => &[State::ShortScoreboard],
        "wait" => &[State::Wait],
        _ => return None,
    })
}

/// The factor of double data rate: transfers of a memory's clock.
const TRANSFERS: f64 = 2.0;

impl Figures<'_> {
    /// The value of a definition without a rule over counts.
    pub(super) fn later(&self, name: &str) -> Option<(Value, Kind)> {
        if let Some(pipe) = name.strip_prefix("inst_executed_pipe_") {
            let kind = self.launch.counts.machine.as_ref()?.kind;
            let count = pipes::instructions(&self.launch, pipe)?;
            return Some((Number::Count(count).into(), kind));
        }
        if let Some(value) = self.of_launch(name) {
            return Some((value, Kind::Exact));
        }
        if name == metric!("branch_share") {
            let branches = self.count(metric!("branch"))?;
            let share = 100.0 * branches / self.count(metric!("inst_executed"))?;
            return Some((Value::Real(share), Kind::Estimated));
        }
        if let Some(limit) = self.limit(name) {
            let kind = self.launch.counts.metrics.get(metric!("theoretical_occupancy"))?.kind;
            return Some((Value::Count(limit.into()), kind));
        }
        let value = self.of_time(name).or_else(|| self.of_simulation(name))?;
        Some((Value::Real(value), Kind::Modelled))
    }

    /// Facts of the launch.
    fn of_launch(&self, name: &str) -> Option<Value> {
        let counts = self.launch.counts;
        let dynamic = u64::from(self.launch.dynamic_shared_bytes);
        let shape = counts.cta_shape();
        let limits = self.device.as_ref().map(|device| device.limits);
        let reserved = || Some(limits?.shared_reserved_bytes_per_cta);
        let all = || Some(shape.shared_bytes + reserved()?);
        let extent = |extents: [u32; 3], at: usize| Some(Value::Count(extents[at].into()));
        let count = match name {
            "func_cache_config" => {
                return Some(Value::Text("CachePreferNone".to_owned()));
            }
            "block_dim_x" => return extent(counts.block, 0),
            "block_dim_y" => return extent(counts.block, 1),
            "block_dim_z" => return extent(counts.block, 2),
            "grid_dim_x" => return extent(counts.grid, 0),
            "grid_dim_y" => return extent(counts.grid, 1),
            "grid_dim_z" => return extent(counts.grid, 2),
            "shared_mem_per_block_dynamic" => dynamic,
            "shared_mem_per_block_static" => shape.shared_bytes.saturating_sub(dynamic),
            "shared_mem_per_block_driver" => reserved()?,
            "shared_mem_per_block" => all()?,
            "shared_mem_per_block_allocated" => {
                all()?.next_multiple_of(limits?.shared_allocation_bytes.max(1))
            }
            "shared_mem_config_size" => self.device.as_ref()?.shared_bytes_set_aside(shape),
            "stack_bytes" => self.launch.stack_bytes.into(),
            "launched_sms" => u64::from(self.device.as_ref()?.sm_count),
            "cluster_size" => match counts.requested().cluster_ctas {
                0 | 1 => 0,
                ctas => u64::from(ctas),
            },
            "uses_green_context" => 0,
            _ => return None,
        };
        Some(Value::Count(count))
    }

    /// CTAs that a resource of an SM suffices for.
    fn limit(&self, name: &str) -> Option<u32> {
        let limiter = match name {
            "occupancy_limit_blocks" => Limiter::Ctas,
            "occupancy_limit_registers" => Limiter::Registers,
            "occupancy_limit_shared_mem" => Limiter::SharedMemory,
            "occupancy_limit_warps" => Limiter::Warps,
            _ => return None,
        };
        let device = self.device.as_ref()?;
        let occupancy = device.occupancy(self.launch.counts.cta_shape());
        let (_, ctas) = occupancy.limits.into_iter().find(|(known, _)| *known == limiter)?;
        match limiter {
            // What takes none of a resource is limited by the CTAs that an SM can hold.
            Limiter::SharedMemory => Some(ctas.unwrap_or(device.limits.max_ctas)),
            Limiter::Ctas | Limiter::Registers | Limiter::Warps => ctas,
        }
    }

    /// What follows from the time and the counts, whatever model predicted.
    fn of_time(&self, name: &str) -> Option<f64> {
        let cycles = self.cycles.as_ref()?;
        let gpu = self.launch.gpu;
        let dram_share = || {
            let bytes = self.count(metric!("dram_bytes"))?;
            Some(bytes / (1e9 * gpu.number("peak_memory_bandwidth")? * cycles.seconds))
        };
        let dram_cycles = || {
            let bus_bytes = gpu.number("memory_bus_width")? / 8.0;
            let bytes_per_second = 1e9 * gpu.number("peak_memory_bandwidth")?;
            Some(bytes_per_second / bus_bytes / TRANSFERS * cycles.seconds)
        };
        Some(match name {
            "gpu_time" => 1e9 * cycles.seconds,
            "elapsed_cycles_sm" => cycles.elapsed,
            "dram_throughput_share" => 100.0 * dram_share()?,
            "dram_elapsed_cycles" => dram_cycles()?,
            "dram_active_cycles" => dram_share()? * dram_cycles()?,
            "flop_sp_efficiency" => {
                let peak = 2.0 * gpu.number("fp32_rate")? * sm_count(gpu)? * cycles.elapsed;
                100.0 * self.count(metric!("flop_count_sp"))? / peak
            }
            _ => return None,
        })
    }

    fn count(&self, name: &str) -> Option<f64> {
        Some(self.launch.counts.metrics.get(name)?.value.as_f64())
    }

    /// What only a simulation of an SM knows.
    fn of_simulation(&self, name: &str) -> Option<f64> {
        let simulated = self.cycles.as_ref()?.simulated.as_ref()?;
        let sms = sm_count(self.launch.gpu)?;
        let analysis = &simulated.analysis;
        let schedulers = || sms * simulated.schedulers();
        let all = || analysis.warp_clocks();
        let issued = || simulated.warps(&[State::Selected]).max(1.0);
        if let Some(reason) = name.strip_prefix("stall_") {
            return Some(100.0 * simulated.warps(states(reason)?) / all().max(1.0));
        }
        if let Some(reason) = name.strip_prefix("stalled_warps_") {
            return Some(simulated.warps(states(reason)?) / issued());
        }
        Some(match name {
            "active_cycles" => simulated.active,
            "active_warps" => all() * simulated.scale,
            "eligible_warps" => {
                simulated.warps(&[State::Selected, State::NotSelected]) * simulated.scale
            }
            "issue_active_cycles" => self.count(metric!("inst_issued"))?,
            "issue_idle_cycles" => {
                let slots = simulated.active * schedulers();
                (slots - self.count(metric!("inst_issued"))?).max(0.0)
            }
            "warp_latency_per_issue" | "warp_latency_per_instruction" => all() / issued(),
            "pipe_tensor_cycles" => {
                roofs::tensor_clocks(&self.launch.counts.to_kernel_profile(), self.launch.gpu) / sms
            }
            _ => return self.throughput(name, simulated, sms),
        })
    }

    /// Uses of units, in percent of the elapsed time.
    fn throughput(&self, name: &str, simulated: &Simulated, sms: f64) -> Option<f64> {
        let cycles = self.cycles.as_ref()?;
        let analysis = &simulated.analysis;
        let percent = |clocks: f64| (100.0 * clocks / cycles.elapsed).min(100.0);
        let l1tex = || percent(analysis.data_clocks / sms);
        let lts = || percent(analysis.served.l2.max(analysis.served.atomics));
        let pipes = || pipes::busy(&self.launch, simulated, sms);
        let greatest = |clocks: f64, more: f64| clocks.max(more);
        let loads = || {
            let is_memory = |(name, _): &(&str, f64)| matches!(*name, "lsu" | "tex");
            percent(pipes().into_iter().filter(is_memory).map(|(_, busy)| busy).fold(0.0, greatest))
        };
        let computing = || {
            let issue = self.count(metric!("inst_issued"))?
                / f64::from(simulated.parameters.issue.issue_width)
                / simulated.schedulers()
                / sms;
            let tensor = self.of_simulation(metric!("pipe_tensor_cycles"))?;
            let is_memory = |name: &str| matches!(name, "lsu" | "tex");
            let busy = pipes().into_iter().filter(|(name, _)| !is_memory(name));
            Some(percent(busy.map(|(_, busy)| busy).fold(issue.max(tensor), greatest)))
        };
        let dram = || self.of_time(metric!("dram_throughput_share"));
        Some(match name {
            "sm_throughput" => computing()?.max(loads()),
            "sm_instruction_throughput" => computing()?,
            "sm_memory_throughput" => loads(),
            "l1tex_throughput" => l1tex(),
            "lts_throughput" => lts(),
            "memory_access_throughput" => l1tex().max(lts()),
            "memory_request_throughput" => loads().max(dram()?),
            "memory_throughput" => l1tex().max(lts()).max(loads()).max(dram()?),
            _ => return None,
        })
    }
}

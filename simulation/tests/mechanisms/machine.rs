//! An SM of Volta's kind, with round numbers.

use gpucast_simulation::code::Class;
use gpucast_simulation::parameters::{
    ConstantCosts, Issue, LaunchCosts, LoadStore, Memory, Parameters, Queueing, Scheduler,
    Synchronisation, Tensor, TensorMemory, Unit, UnitUse,
};

/// Tensor memory, which Volta does not have.
const MEMORY: TensorMemory = TensorMemory {
    tensor_memory_latency: 70.0,
    tensor_pair_latency: 30.0,
    tensor_memory_read_rate: 256.0,
    tensor_memory_write_rate: 512.0,
    tensor_memory_columns: 512,
};

/// An SM of Volta's kind with round numbers.
pub(crate) fn machine() -> Parameters {
    let on = |unit, interval| UnitUse { unit: Some(unit), other: None, interval, is_shared: false };
    let mut units = [UnitUse { unit: None, other: None, interval: 0.0, is_shared: false }; 18];
    for class in Class::ALL {
        units[class as usize] = match class {
            Class::Fp32 | Class::Fp16 | Class::IntegerMultiply => on(Unit::Fma, 2.0),
            Class::WideMultiply => on(Unit::Fma, 3.0),
            Class::Fp64 => on(Unit::Fp64, 4.0),
            Class::Integer | Class::Compare | Class::Shift => on(Unit::Alu, 2.0),
            Class::Special | Class::Conversion => on(Unit::Special, 8.0),
            Class::WideConversion => on(Unit::Special, 8.0),
            Class::Shuffle => on(Unit::Memory, 4.0),
            Class::Memory => on(Unit::Memory, 1.0),
            Class::Tensor => on(Unit::Tensor, 2.0),
            Class::Texture => on(Unit::Texture, 4.0),
            Class::Branch => on(Unit::Branch, 1.0),
            Class::Uniform => on(Unit::Uniform, 2.0),
            Class::Other => continue,
        };
    }
    let mut latencies = [20.0; 18];
    latencies[Class::Fp64 as usize] = 8.0;
    Parameters {
        sp_clock: 1380.0,
        sm_count: 80,
        issue: Issue {
            sub_partitions: 4,
            issue_width: 1,
            warp_scheduler: Scheduler::GreedyThenOldest,
        },
        units,
        latencies,
        tensor: Tensor {
            rates: [512.0; 10],
            mma_sync_share: 1.0,
            tensor_latency: 10.0,
            tensor_queue: 5,
            memory: MEMORY,
        },
        load_store: LoadStore {
            memory_queue: 4,
            address_interval: 4.0,
            uniform_address_interval: 2.0,
            port_interval: 1.0,
            l1_bytes_rate: 128.0,
            shared_bytes_rate: 128.0,
            shared_paired_bytes: 256.0,
            l1_tag_rate: 4.0,
            l1_tag_spread: 0.25,
            pass_interval: 1.0,
            store_bytes_rate: 64.0,
            l1_latency: 28.0,
            shared_latency: 23.0,
            constant_latency: 27.0,
            constant_interval: 2.0,
            shuffle_latency: 23.0,
            operand_latency: 11.0,
            shared_atomic_interval: 2.0,
            pending_accesses: 256,
            pending_sectors: 2048,
            stored_sectors: 256,
        },
        memory: Memory {
            l2_latency: 212.0,
            l2_far_latency: 0.0,
            memory_latency: 430.0,
            l2_read_bandwidth: 2155e9,
            l2_write_bandwidth: 2155e9,
            l2_partial_write_cost: 1.5,
            l2_reply_bytes_rate: 64.0,
            l2_request_rate: 1.0,
            dram_bandwidth: 897e9,
            dram_efficiency: 0.97,
            dram_mixed_efficiency: 0.87,
            queueing: [
                Queueing { written: 0.0, linear: 0.2, hyperbolic: 0.04 },
                Queueing { written: 0.25, linear: 1.1, hyperbolic: 0.02 },
                Queueing { written: 0.5, linear: 0.9, hyperbolic: 0.05 },
                Queueing { written: 1.0, linear: 0.0, hyperbolic: 0.0 },
            ],
            sector: 32.0,
            atomic_latency: 30.0,
            atomic_interval: 1.0,
            atomic_rate: 64.0,
        },
        synchronisation: Synchronisation {
            barrier_latency: 24.0,
            barrier_arrival_interval: 2.0,
            mbarrier_latency: 36.0,
            fences: [53.0, 186.0, 2900.0],
        },
        launch: LaunchCosts {
            cta_launch_interval: 1.5,
            cta_replacement: 312.0,
            warp_launch_interval: 2.0,
            launch_start: 0.0,
            launch_end: 0.0,
            code_latency: 78.0,
            code_line_interval: 8.0,
            code_line: 128.0,
            code_cache_size: 32768.0,
            constants: ConstantCosts {
                constant_near_latency: 80.0,
                constant_far_latency: 300.0,
                constant_line: 64.0,
                constant_far_line: 256.0,
            },
        },
    }
}

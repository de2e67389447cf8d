//! The one function of GPU Ocelot's library that other emulators' users call: a kernel on arrays of
//! the host.

use gpucast_host::clock::DEFAULT_STREAM;
use gpucast_host::{Error, LaunchRequest};

use super::driver_functions;
use crate::abi::{self, In, Text};
use crate::state;

fn extents(values: [i32; 3]) -> Result<[u32; 3], Error> {
    let [x, y, z] = values.map(|value| u32::try_from(value).map_err(|_| Error::InvalidValue));
    Ok([x?, y?, z?])
}

driver_functions! {
    /// Runs the first kernel of a PTX text to its end. Each argument is a word of eight bytes: a
    /// pointer to an array of the program, or a number.
    fn ptx_run(
        text: Text,
        count: i32,
        arguments: In<u64>,
        block_x: i32,
        block_y: i32,
        block_z: i32,
        grid_x: i32,
        grid_y: i32,
        grid_z: i32,
        shared_bytes: i32,
    ) {
        let grid = extents([grid_x, grid_y, grid_z])?;
        let block = extents([block_x, block_y, block_z])?;
        let shared_bytes = u32::try_from(shared_bytes).map_err(|_| Error::InvalidValue)?;
        let text = text.get()?;
        state::with(|state| {
            let function = state.kernel_of_text(text)?;
            let device = state.device()?;
            let parameters = device.parameters(function)?;
            if usize::try_from(count) != Ok(parameters.len()) {
                return Err(Error::InvalidValue);
            }
            let mut words = Vec::new();
            let mut bytes = Vec::new();
            for (index, parameter) in parameters.iter().enumerate() {
                let word = arguments.at(index)?;
                let of_word = word.to_le_bytes();
                let taken = of_word.get(..parameter.bytes as usize).ok_or(Error::InvalidValue)?;
                bytes.push(taken.to_vec());
                words.push(word);
            }
            let request = LaunchRequest {
                function,
                grid,
                block,
                cluster: None,
                shared_bytes,
                stream: DEFAULT_STREAM,
                arguments: bytes,
            };
            abi::launch_on_program_memory(device, request, &words)?;
            device.usable()
        })
    }
}

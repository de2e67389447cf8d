//! The errors that a host program gets, with CUDA's numbers, names and descriptions.

/// Declares [`Error`] from rows of number, names and description.
macro_rules! errors {
    ($($(#[doc = $doc:literal])* $name:ident = $code:literal, $runtime:literal, $driver:literal, $text:literal;)+) => {
        /// Reason why a call has no effect, or why the device is of no use any more.
        ///
        /// Numbers are those of the runtime API, which the driver API shares but for those that
        /// [`Error::driver_code`] changes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
        pub enum Error {
            $($(#[doc = $doc])* #[error($text)] $name,)+
        }

        impl Error {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The runtime API's number.
            #[must_use]
            pub const fn code(self) -> i32 {
                match self { $(Self::$name => $code,)+ }
            }

            /// The runtime API's name.
            #[must_use]
            pub const fn runtime_name(self) -> &'static str {
                match self { $(Self::$name => $runtime,)+ }
            }

            /// The driver API's name.
            #[must_use]
            pub const fn driver_name(self) -> &'static str {
                match self { $(Self::$name => $driver,)+ }
            }

            /// The description, as both APIs give it.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

errors! {
    /// An argument is outside its range.
    InvalidValue = 1, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE", "invalid argument";
    /// Memory does not suffice.
    OutOfMemory = 2, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory";
    /// The device could not be set up.
    NotInitialized = 3, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED", "initialization error";
    /// The extents of a launch are impossible.
    InvalidConfiguration = 9, "cudaErrorInvalidConfiguration", "CUDA_ERROR_INVALID_VALUE", "invalid configuration argument";
    /// A pitch is smaller than a row.
    InvalidPitch = 12, "cudaErrorInvalidPitchValue", "CUDA_ERROR_INVALID_VALUE", "invalid pitch argument";
    /// No variable is registered under an address.
    InvalidSymbol = 13, "cudaErrorInvalidSymbol", "CUDA_ERROR_NOT_FOUND", "invalid device symbol";
    /// No texture or surface is registered under an address.
    InvalidTexture = 18, "cudaErrorInvalidTexture", "CUDA_ERROR_INVALID_VALUE", "invalid texture reference";
    /// A direction of copies that does not exist.
    InvalidDirection = 21, "cudaErrorInvalidMemcpyDirection", "CUDA_ERROR_INVALID_VALUE", "invalid copy direction for memcpy";
    /// No launch configuration stands ready.
    MissingConfiguration = 52, "cudaErrorMissingConfiguration", "CUDA_ERROR_INVALID_VALUE", "__global__ function call is not configured";
    /// No kernel is registered under an address.
    InvalidFunction = 98, "cudaErrorInvalidDeviceFunction", "CUDA_ERROR_NOT_FOUND", "invalid device function";
    /// A device number beyond those that exist.
    InvalidDevice = 101, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal";
    /// An image that is damaged.
    InvalidImage = 200, "cudaErrorInvalidKernelImage", "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid";
    /// No context is current.
    InvalidContext = 201, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT", "invalid device context";
    /// An image without PTX.
    NoImageForDevice = 209, "cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device";
    /// A limit that the device does not have.
    UnsupportedLimit = 215, "cudaErrorUnsupportedLimit", "CUDA_ERROR_UNSUPPORTED_LIMIT", "limit is not supported on this architecture";
    /// PTX that cannot be read.
    InvalidPtx = 218, "cudaErrorInvalidPtx", "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed";
    /// A file that does not exist.
    FileNotFound = 301, "cudaErrorFileNotFound", "CUDA_ERROR_FILE_NOT_FOUND", "file not found";
    /// A handle of nothing.
    InvalidHandle = 400, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle";
    /// A name that a module does not have.
    NotFound = 500, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND", "named symbol not found";
    /// A kernel accessed memory that is not allocated.
    IllegalAddress = 700, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered";
    /// A CTA does not fit an SM.
    OutOfResources = 701, "cudaErrorLaunchOutOfResources", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch";
    /// A kernel ran for too long.
    LaunchTimeout = 702, "cudaErrorLaunchTimeout", "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated";
    /// An assertion of a kernel failed.
    Assert = 710, "cudaErrorAssert", "CUDA_ERROR_ASSERT", "device-side assert triggered";
    /// Memory of the host that is registered already.
    AlreadyRegistered = 712, "cudaErrorHostMemoryAlreadyRegistered", "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped";
    /// Memory of the host that is not registered.
    NotRegistered = 713, "cudaErrorHostMemoryNotRegistered", "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region";
    /// A kernel reached an instruction that cannot be executed, or a trap.
    IllegalInstruction = 715, "cudaErrorIllegalInstruction", "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered";
    /// A kernel made a misaligned access.
    MisalignedAddress = 716, "cudaErrorMisalignedAddress", "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address";
    /// A kernel failed in another way.
    LaunchFailure = 719, "cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure";
    /// A function that is not there.
    NotSupported = 801, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED", "operation not supported";
    /// A call that a captured stream cannot make.
    CaptureUnsupported = 900, "cudaErrorStreamCaptureUnsupported", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing";
    /// A capture that has failed before.
    CaptureInvalid = 901, "cudaErrorStreamCaptureInvalidated", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture";
    /// The end of a capture in a stream in which it did not begin.
    CaptureUnmatched = 903, "cudaErrorStreamCaptureUnmatched", "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began";
    /// The end of a capture with work of other streams that the first one does not wait for.
    CaptureUnjoined = 904, "cudaErrorStreamCaptureUnjoined", "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work";
    /// A captured stream would wait for work outside its capture.
    CaptureIsolation = 905, "cudaErrorStreamCaptureIsolation", "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream";
    /// The default stream would wait for a captured one.
    CaptureImplicit = 906, "cudaErrorStreamCaptureImplicit", "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream";
    /// A graph of other nodes or edges.
    GraphUpdate = 910, "cudaErrorGraphExecUpdateFailure", "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
    /// Anything else.
    Unknown = 999, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN", "unknown error";
}

impl Error {
    /// The driver API's number.
    #[must_use]
    pub const fn driver_code(self) -> i32 {
        match self {
            Self::InvalidConfiguration
            | Self::InvalidPitch
            | Self::InvalidDirection
            | Self::MissingConfiguration => Self::InvalidValue.code(),
            Self::InvalidSymbol | Self::InvalidFunction => Self::NotFound.code(),
            other => other.code(),
        }
    }

    /// The error of a runtime API's number.
    #[must_use]
    pub fn of_code(code: i32) -> Option<Self> {
        Self::ALL.iter().copied().find(|error| error.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_leads_back_to_its_error() {
        for &error in Error::ALL {
            assert_eq!(Error::of_code(error.code()), Some(error));
            assert!(error.runtime_name().starts_with("cudaError"));
            assert!(error.driver_name().starts_with("CUDA_ERROR_"));
            assert!(Error::ALL.iter().any(|known| known.code() == error.driver_code()));
        }
        assert_eq!(Error::of_code(0), None);
    }
}
